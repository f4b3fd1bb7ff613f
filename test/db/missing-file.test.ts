import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SqliteExecutor } from "../../src/db/operator/sqlite/child.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { openNode } from "../../src/node.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type TestNode, tempFolder, testNode } from "../support/node.ts";
import { untilMissing } from "../support/ready.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const logging = 'memory_log_filter = "info"\n';
const missing = {
  code: 103,
  message:
    "DatabaseError: the database file was moved, deleted or replaced while the server runs; its operator has to put it back",
  data: {
    kind: "DatabaseError",
    reason: "unavailable",
    retry_after_seconds: 5,
    detail: expect.any(String),
  },
};

const fileOf = (node: TestNode) => join(node.folder, "data/node.db");
const watched: readonly unknown[] = ["database.lost", "database.restored", "database.silent"];
const isDatabaseEvent = ({ event }: LogEntry["fields"]) => watched.includes(event);
const eventsOf = ({ node }: TestNode) =>
  node.ring
    .entries()
    .flatMap(({ level, fields }) => (isDatabaseEvent(fields) ? [[level, fields.event]] : []));

/** Every file in the database's folder with the bits that others have on it. */
async function modes(node: TestNode): Promise<Record<string, number>> {
  const data = join(node.folder, "data");
  const names = (await readdir(data)).filter((name) => !name.endsWith(".lock"));
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, (await stat(join(data, name))).mode & 0o077] as const),
    ),
  );
}

test("a SQLite file that is moved away is told once, nothing is written meanwhile, and the server goes on when it is back", async () => {
  await using node = await testNode({ logging });
  const token = node.superToken;
  const { dav } = await webdavSite(node);
  await rename(fileOf(node), `${fileOf(node)}.moved`);
  // Writes look for themselves; reads follow within a second.
  expect(await node.refused("token_create", [token, { token_limit: [] }])).toEqual(missing);
  expect(await node.refused("token_get", { token })).toEqual(missing);
  expect(await node.refused("node-server_exec_sql", { token, sql: "SELECT 1" })).toEqual(missing);
  expect(await node.refused("node-server_database_storage", { token })).toEqual(missing);
  const answer = await dav("PUT", "/a.txt", {}, "a");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
  await untilMissing(node, "database");
  expect(existsSync(fileOf(node))).toBe(false);
  expect(eventsOf(node)).toEqual([["ERROR", "database.lost"]]);
  const line = node.node.ring.entries().find(({ fields }) => fields.event === "database.lost");
  expect(line).toMatchObject({
    spans: [],
    fields: {
      database: fileOf(node),
      reason: expect.any(String),
    },
  });

  await rename(`${fileOf(node)}.moved`, fileOf(node));
  await until("calls succeed again", async () =>
    (await node.send("token_get", { token })).error === undefined ? true : undefined,
  );
  expect((await dav("PUT", "/a.txt", {}, "a")).status).toBe(201);
  await node.newToken([]);
  expect(
    await node.call("node-server_exec_sql", { token, sql: "SELECT count(*) AS n FROM token" }),
  ).toMatchObject({
    data: [{ n: 2 }],
  });
  expect(eventsOf(node)).toEqual([
    ["ERROR", "database.lost"],
    ["INFO", "database.restored"],
  ]);
  expect(new Set(Object.values(await modes(node)))).toEqual(new Set([0]));
});

test("a server that nobody asks notices a deleted file, and exec_sql makes none", async () => {
  await using node = await testNode({ logging });
  const token = node.superToken;
  await node.call("node-server_exec_sql", { token, sql: "SELECT 1" });
  await rm(fileOf(node));
  await until("the log tells it", () => (eventsOf(node).length > 0 ? true : undefined));
  expect(await node.refused("node-server_exec_sql", { token, sql: "SELECT 1" })).toEqual(missing);
  expect(existsSync(fileOf(node))).toBe(false);
});

for (const [method, params] of [
  ["node-server_exec_sql", { sql: "SELECT count(*) AS n FROM token" }],
  ["node-server_database_storage", {}],
] as const)
  test(`${method} looks for itself whether the file was replaced, before anybody else has noticed`, async () => {
    await using node = await testNode({ logging });
    await node.call(method, { token: node.superToken, ...params });
    await copyFile(fileOf(node), `${fileOf(node)}.copy`);
    await rename(`${fileOf(node)}.copy`, fileOf(node));
    expect(await node.refused(method, { token: node.superToken, ...params })).toEqual(missing);
  });

test("plain HTTP goes on with the buckets it knows while the file is missing, and answers 503 when that is too old", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  const { dav } = await webdavSite(node);
  await dav("PUT", "/a.txt", {}, "hello");
  const get = () => fetch(`${node.url}/node/static/site/a.txt`);
  expect((await get()).status).toBe(200);
  await rename(fileOf(node), `${fileOf(node)}.moved`);
  await clock.advance(1000);
  expect(await node.refused("token_get", { token: node.superToken })).toEqual(missing);
  for (let second = 1; second < 59; second += 1) {
    const answer = await get();
    expect([second, answer.status, await answer.text()]).toEqual([second, 200, "hello"]);
    await clock.advance(1000);
  }
  await clock.advance(1000);
  const late = await get();
  expect([late.status, late.headers.get("retry-after")]).toEqual([503, "5"]);
  await rename(`${fileOf(node)}.moved`, fileOf(node));
  await clock.advance(1000);
  expect((await get()).status).toBe(200);
});

test("an operator's statement opens the file it is given, whatever its name, and never makes one", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "odd ?mode=rwc&%41#ü.db");
  const executor = new SqliteExecutor(path);
  const request = { sql: "CREATE TABLE made (a)", bindings: null, maxBytes: 1000, limit: 1000 };
  expect(() => executor.execute(request, () => {})).toThrow("unable to open database file");
  expect(await readdir(folder.path)).toEqual([]);
  await writeFile(path, "");
  executor.execute(request, () => {});
  expect(await readdir(folder.path)).toEqual(["odd ?mode=rwc&%41#ü.db"]);
  expect((await stat(path)).size).toBeGreaterThan(0);
});

test("a file that was replaced is not used and not touched, nor is its own -wal file when the server stops", async () => {
  const node = await testNode({ logging });
  const other = join(node.folder, "other.db");
  {
    using file = new SqliteFile(other, { create: true });
    file.run("CREATE TABLE other (a)");
  }
  await rm(`${fileOf(node)}-wal`);
  await rename(other, fileOf(node));
  await writeFile(`${fileOf(node)}-wal`, "another's");
  expect(await node.refused("token_create", [node.superToken, { token_limit: [] }])).toEqual(missing);
  const line = node.node.ring.entries().find(({ fields }) => fields.event === "database.lost");
  expect(line?.fields.reason).toStartWith(
    "another file has taken its place; put the same file back, or stop",
  );
  await node.node.close();
  expect(await Bun.file(`${fileOf(node)}-wal`).text()).toBe("another's");
  await rm(`${fileOf(node)}-wal`);
  using file = new SqliteFile(fileOf(node), { readonly: true });
  expect(file.query("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "other" }]);
  await node[Symbol.asyncDispose]();
});

test("a start makes no database beside the -wal file of a missing one, and warns where a server had one", async () => {
  const node = await testNode({ logging });
  await node.node.close();
  const options = {
    configPath: node.configPath,
    workingDirectory: node.folder,
    env: { RUST_LOG: "off" },
    show: () => {},
  };
  await rm(fileOf(node));
  await writeFile(`${fileOf(node)}-wal`, "the latest changes");
  await expect(openNode(options)).rejects.toThrow(
    /node\.db does not exist, but .*node\.db-wal does.*Put the database back/,
  );
  expect(existsSync(fileOf(node))).toBe(false);
  await rm(`${fileOf(node)}-wal`);
  const again = await openNode(options);
  const warnings = again.ring.entries().filter(({ level }) => level === "WARN");
  expect(warnings.map(({ message, fields }) => message + JSON.stringify(fields)).join("\n")).toContain(
    "node.db.lock shows that a server has used it",
  );
  expect(await modes(node)).toMatchObject({ "node.db": 0, "node.db-wal": 0, "node.db-shm": 0 });
  await again.close();
  await node[Symbol.asyncDispose]();
});
