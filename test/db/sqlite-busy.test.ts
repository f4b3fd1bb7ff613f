import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testNode } from "../support/node.ts";
import { leftToAll } from "../support/tier.ts";
import { webdavSite } from "../support/webdav.ts";

const further = leftToAll(test);

/** Another process that has begun to write to the file; `end` commits. */
async function otherWriter(path: string) {
  const script = `const { Database } = require("bun:sqlite");
    const file = new Database(${JSON.stringify(path)}, { readwrite: true });
    file.run("PRAGMA busy_timeout = 5000");
    file.run("BEGIN IMMEDIATE");
    console.log("locked");
    for await (const line of console) break;
    file.run("COMMIT");`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdin: "pipe", stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe("locked\n");
  const end = async () => {
    child.stdin.end();
    await child.exited;
  };
  return { end, [Symbol.asyncDispose]: end };
}

test("reads, token checks and uploads go on while another process has the SQLite file locked, and a write waits for it", async () => {
  await using node = await testNode();
  const { dav } = await webdavSite(node);
  const token = node.superToken;
  expect((await dav("PUT", "/a.txt", {}, "a")).status).toBe(201);
  await using other = await otherWriter(join(node.folder, "data/node.db"));
  let written = false;
  const writing = node.newToken([]).then(() => {
    written = true;
  });
  for (let round = 0; round < 3; round += 1) {
    expect(await node.call("token_get", { token })).toMatchObject({ username: "root" });
    expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
    expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("a");
    expect((await dav("PROPFIND", "/", { depth: "1" })).status).toBe(207);
    expect((await dav("PUT", `/new-${round}.txt`, {}, "new")).status).toBe(201);
  }
  expect(written).toBe(false);
  await other.end();
  await writing;
});

test("a write that the lock keeps out for too long fails with 103, reads go on, and the next write succeeds", async () => {
  await using node = await testNode({ databaseKeys: "timeout_ms = 500\n" });
  const token = node.superToken;
  const create = () => node.send("token_create", [token, { token_limit: [] }]);
  await using other = await otherWriter(join(node.folder, "data/node.db"));
  // The first waits for the lock, the second for the first.
  const [first, second] = [create(), create()];
  expect((await second).error).toEqual({
    code: 103,
    message: expect.stringContaining("timeout_ms"),
    data: {
      kind: "DatabaseError",
      reason: "unavailable",
      retry_after_seconds: 5,
      detail: expect.any(String),
    },
  });
  expect(await node.call("token_get", { token })).toMatchObject({ username: "root" });
  expect((await first).error).toEqual({
    code: 103,
    message: expect.not.stringContaining("timeout_ms"),
    data: {
      kind: "DatabaseError",
      reason: "unavailable",
      retry_after_seconds: 5,
      detail: expect.any(String),
    },
  });
  await other.end();
  expect((await create()).error).toBeUndefined();
});

further("an operator's long INSERT holds up neither reads nor uploads", async () => {
  await using node = await testNode();
  const { dav } = await webdavSite(node);
  const token = node.superToken;
  const sql =
    "INSERT INTO kv (namespace, key, value) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT 'long', i, '1' FROM n";
  let done = false;
  const running = node.call("node-server_exec_sql", { token, sql }).then((result) => {
    done = true;
    return result;
  });
  // A write that waits for the INSERT holds up nobody either.
  const waiting = node.send("token_create", [token, { token_limit: [] }]);
  let uploads = 0;
  while (!done) {
    expect((await dav("PUT", `/f-${uploads}.txt`, {}, "new")).status).toBe(201);
    expect(await node.call("token_get", { token })).toMatchObject({ username: "root" });
    uploads += 1;
  }
  expect(uploads).toBeGreaterThan(3);
  expect(await running).toMatchObject({ row_count: 300_000 });
  await waiting;
});

test("a reload that waits for the lock of another process holds up nobody", async () => {
  await using node = await testNode();
  await using other = await otherWriter(join(node.folder, "data/node.db"));
  const config = await readFile(node.configPath, "utf8");
  await writeFile(node.configPath, `${config}\nsql_timeout_ms = 1234\n`);
  let reloaded = false;
  const reloading = node.node.reload().then((outcome) => {
    reloaded = true;
    return outcome;
  });
  for (let round = 0; round < 20; round += 1) {
    expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
    await Bun.sleep(1);
  }
  expect(reloaded).toBe(false);
  await other.end();
  expect(await reloading).toBe("applied");
});
