import { expect } from "bun:test";
import { X509Certificate } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../support/certificate.ts";
import { loggedIn, User } from "../support/cli.ts";
import { databaseKinds, tempFolder, testNode } from "../support/node.ts";
import { story, wholeLines } from "../support/process.ts";
import { chosenFor } from "../support/tier.ts";
import { until } from "../support/until.ts";

story("status --json is JSON also when the server cannot be reached", async () => {
  await using scene = await loggedIn();
  const env = { NODE_SERVER_URL: "http://127.0.0.1:1", NODE_SERVER_TOKEN: "a:b" };
  const { code, stdout } = await scene.user.run(["status", "--json"], { env });
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toEqual({
    server: "http://127.0.0.1:1",
    reachable: false,
    error: "http://127.0.0.1:1/jsonrpc cannot be reached: nothing listens there",
  });
});

story("status says that the files are away, with and without a token", async () => {
  await using scene = await loggedIn();
  const { node, user } = scene;
  expect(JSON.parse(await user.does(["status", "--json"]))).toMatchObject({ ready: true, missing: [] });
  await node.call("static-bucket_create", [node.superToken, "site"]);
  await rename(join(node.folder, "static"), join(node.folder, "elsewhere"));
  // The last check is valid for a second.
  const lost = await until("the store is missing", async () => {
    const { code, stdout } = await user.run(["status", "--json"]);
    const status = JSON.parse(stdout) as { ready: boolean };
    // The verdict is a call of its own, and may know it first.
    return !status.ready && { code, ...status };
  });
  expect(lost).toMatchObject({ code: 1, reachable: true, ready: false, missing: ["store"] });
  const text = await user.run(["status"], { env: { NODE_SERVER_URL: node.url } });
  expect([text.code, text.stdout]).toEqual([1, expect.stringMatching(/^ready +no: store$/m)]);
  // An error about a bucket as a whole has a subject, too.
  expect(await user.run(["ls", "site"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("node-server: the bucket: Service Unavailable"),
  });
});

story("status and /node/ready say that the database accepts no changes, and reading goes on", async () => {
  await using scene = await loggedIn({ database: "postgres" });
  const { node, user } = scene;
  expect(JSON.parse(await user.does(["status", "--json"]))).toMatchObject({ ready: true, writes: true });
  const name = new URL(node.databaseUrl).pathname.slice(1);
  const setReadOnly = async (value: "on" | "off") => {
    await node.sql(
      `BEGIN READ WRITE; ALTER DATABASE "${name}" SET default_transaction_read_only = ${value}; COMMIT`,
    );
    // Connections keep the setting that they began with.
    await node.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
  };
  const ready = async () => {
    const response = await fetch(`${node.url}/node/ready`);
    return [response.status, await response.json()];
  };
  const create = (bucket: string) => node.send("static-bucket_create", [node.superToken, bucket]);
  await setReadOnly("on");
  await until("a change was refused for that", async () => {
    await create("site");
    return JSON.stringify(await ready()).includes("writes");
  });
  await until("it is ready with new connections", async () => (await ready())[0] === 200);
  const judged = { verdict: "trouble", reasons: [{ code: "readOnly", level: "trouble" }] };
  expect(await ready()).toEqual([200, { status: "ready", writes: false, ...judged }]);
  const told = await user.run(["status"]);
  expect([told.code, told.stdout]).toEqual([
    1,
    expect.stringMatching(/^ready +yes\nwrites +no: the database.+\nverdict +trouble: .*refuses changes/m),
  ]);
  await setReadOnly("off");
  await until("a change succeeds", async () => (await create("site")).error === undefined);
  expect(await ready()).toEqual([200, { status: "ready" }]);
});

story("status says until when the certificate is valid, to a token that may read the metrics", async () => {
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node"))) return;
  const ca = join(folder.path, "cert.pem");
  await using node = await testNode({
    top: `tls_cert = "${ca}"\ntls_key = "${join(folder.path, "key.pem")}"\n`,
  });
  await using user = await User.open();
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  const state = JSON.parse(await user.does(["status", "--json", "--ca", ca], { env }));
  const { validTo } = new X509Certificate(await readFile(ca));
  expect(state.certificate_expires).toBe(Date.parse(validTo));
  expect(await user.does(["status", "--ca", ca], { env })).toMatch(/^certificate +valid until \S+ \S+ UTC$/m);
  const plain = (await user.does(["tokens", "create", "--bucket", "site", "--ca", ca], { env })).trim();
  const other = { ...env, NODE_SERVER_TOKEN: plain };
  expect(JSON.parse(await user.does(["status", "--json", "--ca", ca], { env: other }))).toMatchObject({
    certificate_expires: null,
  });
});

story("status prints the server's verdict on itself and its reasons", async () => {
  await using scene = await loggedIn({ logging: 'memory_log_filter = "info"' });
  const { node, user } = scene;
  expect(await user.does(["status"])).toMatch(/^verdict +well$/m);
  node.node.hub.logger("task").error("the nightly backup failed");
  const said =
    /^verdict +attention: 1 error in the log of the last hour, the newest: the nightly backup failed$/m;
  expect(await user.does(["status"])).toMatch(said);
  expect(JSON.parse(await user.does(["status", "--json"]))).toMatchObject({
    verdict: "attention",
    reasons: [{ code: "errors", level: "attention", count: 1 }],
    super: true,
  });
});

story("status without any token tells what needs none, as text and as JSON", async () => {
  await using node = await testNode();
  await using user = await User.open();
  const env = { NODE_SERVER_URL: node.url };
  const json = await user.run(["status", "--json"], { env });
  expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
    0,
    { server: node.url, reachable: true, version: expect.any(String), token: null, super: false },
  ]);
  const text = await user.run(["status"], { env });
  expect([text.code, text.stdout]).toEqual([0, expect.stringMatching(/^token +none$/m)]);
  const gone = await user.run(["status", "--json"], { env: { NODE_SERVER_URL: "http://127.0.0.1:1" } });
  expect([gone.code, JSON.parse(gone.stdout)]).toMatchObject([4, { reachable: false }]);
});

story("status with a wrong token asks once, so the server logs one refusal", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "info"' });
  await using user = await User.open();
  const env = { NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: "wrong:token" };
  const { code, stdout } = await user.run(["status"], { env });
  expect([code, stdout]).toEqual([3, expect.stringMatching(/^token +not accepted$/m)]);
  const entries = (await node.call("node-server_log", [node.superToken])) as { message: string }[];
  expect(entries.filter(({ message }) => message.includes("refused"))).toHaveLength(1);
});

for (const kind of chosenFor("status", databaseKinds)) {
  story(`status names a database that does not work, and does not blame the token (${kind})`, async () => {
    await using scene = await loggedIn({ database: kind });
    const { node, user } = scene;
    expect(JSON.parse(await user.does(["status", "--json"]))).toMatchObject({ database_error: null });
    await node.sql("ALTER TABLE token RENAME TO elsewhere");
    const broken = await user.run(["status"]);
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(/^database +(\w+, )?not usable: DatabaseError: .*token/m);
    expect(broken.stdout).toMatch(/^up +\d+ s$/m);
    expect(broken.stdout).toMatch(/^token +cannot be checked without the database$/m);
    expect(broken.stderr).toContain("the server cannot use its database, so it cannot check tokens");
    const json = await user.run(["status", "--json"]);
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([1, { reachable: true, token: null }]);
    expect(JSON.parse(json.stdout).database_error).toContain("DatabaseError");
    await node.sql("ALTER TABLE elsewhere RENAME TO token");
    expect((await user.run(["status"])).code).toBe(0);
  });
}

story("the access log names the CLI and its version", async () => {
  await using scene = await loggedIn({ logging: 'access_log = "access.log"' });
  await scene.user.does(["status"]);
  const line = await until("the call is in the access log", async () => {
    const file = Bun.file(join(scene.node.folder, "access.log"));
    return (await file.exists()) && wholeLines(await file.text()).find((line) => line.includes("/jsonrpc"));
  });
  expect(line).toMatch(/"node-server\/\d+\.\d+\.\d+"/);
});
