import { expect } from "bun:test";
import { chmod, chown, readFile } from "node:fs/promises";
import { makeCertificate } from "../support/certificate.ts";
import { newHome, story } from "../support/process.ts";
import { boundByModes, findProgram } from "../support/tools.ts";

const isRoot = process.getuid?.() === 0;

story("an address that is in use is refused with what sets it: key, variable or option", async () => {
  using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const address = `127.0.0.1:${taken.port}`;
  const env = { NODE_SERVER_WS_LISTENER: address };
  const ways = [
    { from: "ws_listener", top: `ws_listener = "${address}"`, args: [], env: {} },
    { from: "NODE_SERVER_WS_LISTENER", args: [], env },
    { from: "--listen", args: ["--listen", address], env },
  ];
  for (const { from, top, args, env } of ways) {
    await using home = await newHome(top === undefined ? {} : { top });
    const { code, stderr } = await home.run(["serve", ...args], { env });
    expect(code).toBe(1);
    expect(stderr).toEndWith(
      `node-server: cannot listen on ${address}: another program listens there; stop it or change ${from}\n`,
    );
  }
});

story("a port that only root may use is refused with the ways to use it", async () => {
  const first = await readFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8").catch(() => "0");
  // Some containers allow every port to everybody.
  if (Number(first) <= 80) return;
  const setpriv = isRoot
    ? findProgram("a server without the right to low ports", "setpriv", "util-linux")
    : "";
  if (setpriv === undefined) return;
  const as = isRoot ? [setpriv, "--bounding-set=-net_bind_service"] : [];
  await using home = await newHome();
  const { code, stderr } = await home.run(["serve", "--listen", "127.0.0.1:80"], { as });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /cannot listen on 127\.0\.0\.1:80: ports below 1024 need a right that \w+ does not have; use a port from 1024 on in --listen, or .*`node-server service install`.*`setcap cap_net_bind_service=\+ep \/\S+` as root\n$/,
  );
});

story("a private key that this user cannot read is refused with owner, mode and what to do", async () => {
  const how = boundByModes();
  if (how === undefined) return;
  await using home = await newHome({ top: 'tls_cert = "cert.pem"\ntls_key = "key.pem"' });
  if (!(await makeCertificate(home, "node"))) return;
  const key = home.file("key.pem");
  if (isRoot) await chown(key, 65_534, 65_534);
  await chmod(key, 0o000);
  const { code, stderr } = await home.run(["check"], how);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /toml:3:11: tls_key: the private key \S+\/key\.pem cannot be read: it belongs to \w+ with mode 0000, and this runs as \w+; (run this as \w+ \(`sudo -u \w+`\), or )?run `ch(own \w+|mod u\+r) \S+\/key\.pem`\n$/,
  );
});
