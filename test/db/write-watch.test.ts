import { expect, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { sql } from "kysely";
import { systemClock } from "../../src/base/clock.ts";
import { parseSqliteUrl } from "../../src/base/database-url.ts";
import { openSqlite } from "../../src/db/sqlite/sqlite.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { initDatabase, tempFolder, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

const limits = [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }];

test("SQLite that stops taking writes is one ERROR line, and one INFO line when it takes them again", async () => {
  await using folder = await tempFolder();
  const url = `sqlite://${join(folder.path, "node.db")}?mode=rwc`;
  await initDatabase(url, "writesAreWatched:writesAreWatchedwritesAreWatched");
  const entries: LogEntry[] = [];
  const hub = new LogHub();
  hub.attach({ filter: parseFilter("info"), write: (entry) => entries.push(entry) });
  const dialect = await openSqlite(parseSqliteUrl(url), {
    acquireTimeoutMs: 1000,
    childCommand: [],
    clock: systemClock,
    log: hub.logger("sqlx"),
  });
  const write = () => dialect.query.deleteFrom("kv").where("namespace", "=", "none").execute();
  await write();
  // SQLite fails as it does for a file that became read-only.
  await sql`PRAGMA query_only = ON`.execute(dialect.query);
  for (let i = 0; i < 5; i += 1) await expect(write()).rejects.toMatchObject({ kind: "DatabaseError" });
  await sql`PRAGMA query_only = OFF`.execute(dialect.query);
  await write();
  await write();
  expect(entries.map(({ level, target, message }) => `${level} ${target} ${message}`)).toEqual([
    "ERROR db the database accepts no writes; every change fails until this is fixed",
    "INFO db the database accepts writes again",
  ]);
  expect(entries[0]?.fields).toEqual({
    event: "database.write_failed",
    reason: "attempt to write a readonly database",
  });
  await dialect.close();
});

test("PostgreSQL that becomes read-only is one ERROR line, and one INFO line when it accepts writes again", async () => {
  await using node = await testNode({ database: "postgres", logging: 'memory_log_filter = "info"' });
  const name = new URL(node.databaseUrl).pathname.slice(1);
  const write = () => node.send("token_create", [node.superToken, { token_limit: limits }]);
  const told = () =>
    node.node.ring.entries().flatMap(({ message }) => (message.includes(" writes") ? [message] : []));
  const setReadOnly = async (value: "on" | "off") => {
    await using outside = new SQL({ url: node.databaseUrl, max: 1 });
    await outside.unsafe("SET default_transaction_read_only = off");
    await outside.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
    // Connections keep the setting that they began with.
    await outside.unsafe(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
  };
  await setReadOnly("on");
  await until("writes fail for being read-only", async () => {
    await write();
    return told().length > 0;
  });
  for (let i = 0; i < 5; i += 1) expect((await write()).error?.code).toBe(103);
  await setReadOnly("off");
  await until("writes succeed again", async () => (await write()).error === undefined);
  expect(told()).toEqual([
    "the database accepts no writes; every change fails until this is fixed",
    "the database accepts writes again",
  ]);
});
