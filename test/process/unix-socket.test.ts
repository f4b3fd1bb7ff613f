import { expect } from "bun:test";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { hello, helloAt, newHome, sendTo, story } from "../support/process.ts";

const local = "http://localhost";
const socketAt = (path: string) => ({ top: `enable_unix_socket = true\nunix_socket_path = "${path}"` });

story(
  "the Unix socket answers JSON-RPC to its owner alone, beside the database, and goes with the server",
  async () => {
    await using home = await newHome({ top: "enable_unix_socket = true" });
    const server = await home.serve();
    await server.says(/INFO server: listening on unix:\S+\/data\/node\.sock\n/);
    const unix = home.file("data/node.sock");
    const stat = lstatSync(unix);
    expect([stat.isSocket(), stat.mode & 0o777]).toEqual([true, 0o600]);
    expect(await helloAt(local, { unix })).toBe(hello);
    expect(await sendTo(local, "token_get", [server.superToken], { unix })).toMatchObject({
      result: { username: "root" },
    });
    expect(await sendTo(local, "token_list_all_tokens", ["root|wrong"], { unix })).toMatchObject({
      error: { code: 102 },
    });
    expect(await server.call("node-server_hello")).toBe(hello);
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect(existsSync(unix)).toBe(false);
  },
);

story("without enable_unix_socket there is none", async () => {
  await using home = await newHome({ top: 'unix_socket_path = "node.sock"' });
  await home.serve();
  expect(existsSync(home.file("node.sock"))).toBe(false);
});

story("a socket file whose server was killed is replaced", async () => {
  await using home = await newHome(socketAt("run/node.sock"));
  const first = await home.serve();
  await first.says(/listening on unix:/);
  first.signal("SIGKILL");
  await first.exited;
  const unix = home.file("run/node.sock");
  expect(existsSync(unix)).toBe(true);
  const second = await home.serve();
  await second.says(/listening on unix:/);
  expect(await helloAt(local, { unix })).toBe(hello);
  expect(lstatSync(unix).mode & 0o777).toBe(0o600);
});

story("a socket file that answers is another server's: it is named, refused and left alone", async () => {
  await using home = await newHome(socketAt("node.sock"));
  await using other = await newHome(socketAt(home.file("node.sock")));
  const unix = home.file("node.sock");
  const server = await home.serve();
  await server.says(/listening on unix:/);
  await other.run(["init"]);
  const running = other.launch();
  const { code, stdout, stderr } = await running.exited;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^node-server: .*node\.sock: another program listens there; stop it or change unix_socket_path$/m,
  );
  expect(await helloAt(local, { unix })).toBe(hello);
});

story("what stands at unix_socket_path and is no socket is never deleted", async () => {
  await using home = await newHome(socketAt("precious.txt"));
  await home.run(["init"]);
  await writeFile(home.file("precious.txt"), "years of work\n");
  const running = home.launch();
  await running.says(/listening on unix:/).catch(() => {});
  expect(existsSync(home.file("precious.txt")) && lstatSync(home.file("precious.txt")).isFile()).toBe(true);
  expect(readFileSync(home.file("precious.txt"), "utf8")).toBe("years of work\n");
  const { code, stderr } = await running.exited;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^node-server: .*precious\.txt.*$/m);
});

const impossible: ReadonlyArray<[what: string, path: string]> = [
  ["is a folder", "folder"],
  ["lies below a file", "config.toml/node.sock"],
  ["is longer than a socket's name may be", `${"long".repeat(40)}.sock`],
];

for (const [what, path] of impossible) {
  story(`a unix_socket_path that ${what} is one clear line that names it`, async () => {
    await using home = await newHome(socketAt(path));
    await mkdir(home.file("folder"));
    await home.run(["init"]);
    const { code, stdout, stderr } = await home.run(["serve"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.replace(/^.*INFO.*\n/gm, "")).toMatch(/^node-server: [^\n]+\n$/);
    expect(stderr).not.toContain("this is a bug");
    expect(stderr.split("node-server: ")[1]).toContain(path);
  });
}
