import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { systemClock } from "../../src/base/clock.ts";
import { parseSqliteUrl } from "../../src/base/database-url.ts";
import { openSqlite } from "../../src/db/sqlite/sqlite.ts";
import { LogHub } from "../../src/log/hub.ts";
import { openNode } from "../../src/node.ts";
import { configText, tempFolder, testNode } from "../support/node.ts";

const options = {
  acquireTimeoutMs: 1000,
  childCommand: [],
  clock: systemClock,
  log: new LogHub().logger("sqlx"),
};

test.each([
  ["sqlite://data/node.db?mode=rwc", { path: "data/node.db", mode: "rwc" }],
  ["sqlite://data/node.db", { path: "data/node.db", mode: "rw" }],
  ["sqlite:node.db", { path: "node.db", mode: "rw" }],
  ["sqlite:./node.db?mode=rw", { path: "./node.db", mode: "rw" }],
  ["sqlite:///var/lib/node.db?mode=rwc", { path: "/var/lib/node.db", mode: "rwc" }],
  ["sqlite:/var/lib/node.db", { path: "/var/lib/node.db", mode: "rw" }],
  ["sqlite://with%20space%3F.db?mode=rwc", { path: "with space?.db", mode: "rwc" }],
  ["sqlite://ünï.db?cache=shared&mode=rwc", { path: "ünï.db", mode: "rwc" }],
] as const)("%s names a file", (url, file) => {
  expect(parseSqliteUrl(url)).toEqual(file);
});

test.each([
  "sqlite:",
  "sqlite://",
  "sqlite://?mode=rwc",
  "sqlite::memory:",
  "sqlite://:memory:?mode=rwc",
  "sqlite://x?mode=memory",
])("%s is refused: a database in memory would be lost", (url) => {
  expect(() => parseSqliteUrl(url)).toThrow("must name a file");
});

test.each(["sqlite://x.db?mode=ro", "sqlite://x.db?mode=", "sqlite://x.db?mode=RWC"])(
  "%s is refused with the modes there are",
  (url) => {
    expect(() => parseSqliteUrl(url)).toThrow("use rwc or rw");
  },
);

test("a path with a broken percent sign is refused, not a crash", () => {
  expect(() => parseSqliteUrl("sqlite://100%.db")).toThrow(expect.objectContaining({ kind: "InvalidInput" }));
});

test("the pragmas are in force on the server's connection", async () => {
  await using folder = await tempFolder();
  const dialect = await openSqlite({ path: join(folder.path, "node.db"), mode: "rwc" }, options);
  const pragma = async (name: string) => {
    const { rows } = await sql.raw(`PRAGMA ${name}`).execute(dialect.query);
    return Object.values(rows[0] ?? {})[0];
  };
  expect({
    journal_mode: await pragma("journal_mode"),
    synchronous: await pragma("synchronous"),
    busy_timeout: await pragma("busy_timeout"),
    foreign_keys: await pragma("foreign_keys"),
  }).toEqual({ journal_mode: "wal", synchronous: 1, busy_timeout: 0, foreign_keys: 1 });
  await dialect.close();
});

test("the server's file is in WAL mode and readable by its owner alone, side files included", async () => {
  await using node = await testNode();
  await node.newToken([]);
  const data = join(node.folder, "data");
  using file = new SqliteFile(join(data, "node.db"), { readonly: true });
  expect(file.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  const names = (await readdir(data)).filter((name) => /^node\.db(-wal|-shm)?$/.test(name));
  expect(names.sort()).toEqual(["node.db", "node.db-shm", "node.db-wal"]);
  for (const name of names)
    expect({ name, mode: (await stat(join(data, name))).mode & 0o077 }).toEqual({ name, mode: 0 });
});

test("the -wal file that grew during a long read is small again afterwards", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.db");
  const dialect = await openSqlite({ path, mode: "rwc" }, options);
  const run = (statement: string) => sql.raw(statement).execute(dialect.query);
  const walBytes = async () => (await stat(`${path}-wal`)).size;
  const bound = 64 * 1024 * 1024;
  await run("CREATE TABLE filler (a)");
  {
    using reader = new SqliteFile(path, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM filler").get();
    for (let at = 0; at < 70; at += 1) await run("INSERT INTO filler VALUES (zeroblob(1048576))");
    expect(await walBytes()).toBeGreaterThan(bound);
    reader.run("ROLLBACK");
  }
  // The first write brings everything into the database, the next one begins the file anew.
  for (let at = 0; at < 3; at += 1) await run("INSERT INTO filler VALUES (1)");
  expect(await walBytes()).toBeLessThanOrEqual(bound);
  await dialect.close();
});

test("mode=rw wants the file to exist and says how to make it", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.db");
  await expect(openSqlite({ path, mode: "rw" }, options)).rejects.toThrow("add ?mode=rwc to database_url");
  expect(await readdir(folder.path)).toEqual([]);
});

test("a file that is no database, or a folder, is refused with its path", async () => {
  await using folder = await tempFolder();
  const text = join(folder.path, "text.db");
  await writeFile(text, "this is no database, but it is long enough to be taken for one ".repeat(20));
  await expect(openSqlite({ path: text, mode: "rwc" }, options)).rejects.toThrow(
    `the database ${text} cannot be opened`,
  );
  const inside = join(folder.path, "folder.db");
  await mkdir(inside);
  await expect(openSqlite({ path: inside, mode: "rwc" }, options)).rejects.toThrow(
    `the database ${inside} cannot be opened`,
  );
});

test("a second server on the same file says which process holds it, and can start when the first is gone", async () => {
  await using folder = await tempFolder();
  const url = `sqlite://${folder.path}/data/node.db?mode=rwc`;
  const configPath = join(folder.path, "config.toml");
  await writeFile(configPath, configText(url));
  const node = { configPath, workingDirectory: folder.path, env: { RUST_LOG: "off" }, show: () => {} };
  const first = await openNode(node);
  await expect(openNode(node)).rejects.toMatchObject({
    kind: "DatabaseError",
    data: { pid: process.pid },
  });
  await first.close();
  await (await openNode(node)).close();
});

test("a start that a damaged row stops names its namespace and key", async () => {
  await using folder = await tempFolder();
  const configPath = join(folder.path, "config.toml");
  await writeFile(configPath, configText(`sqlite://${folder.path}/node.db?mode=rwc`));
  const node = { configPath, workingDirectory: folder.path, env: { RUST_LOG: "off" }, show: () => {} };
  await (await openNode(node)).close();
  using file = new SqliteFile(join(folder.path, "node.db"));
  const store = { namespace: "static-files/store", key: "store" };
  for (const { namespace, key, value = "{broken" } of [
    { namespace: "links", key: "secret" },
    { ...store },
    { ...store, value: "null" },
  ]) {
    file.run("INSERT INTO kv (namespace, key, value) VALUES (?, ?, ?)", [namespace, key, value]);
    await expect(openNode(node)).rejects.toMatchObject({
      kind: "DatabaseError",
      detail: expect.stringMatching(/ is damaged; restore the database from a backup, or correct /),
      data: { namespace, key },
    });
    file.run("DELETE FROM kv WHERE namespace = ?", [namespace]);
  }
  await (await openNode(node)).close();
});
