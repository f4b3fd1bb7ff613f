import { expect, test } from "bun:test";
import { databaseFile, openDatabase } from "../../src/db/database.ts";
import { openLoadTarget, openSnapshot } from "../../src/db/dump/load-target.ts";
import { ServerLock } from "../../src/db/sqlite/sqlite-lock.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases, newDatabase, tempFolder } from "../support/node.ts";
import { rowsOf } from "./support.ts";

const hub = new LogHub();

async function copy(from: string, to: string): Promise<void> {
  const source = await openSnapshot(settingsFor(from), hub);
  const target = await openLoadTarget(settingsFor(to), hub);
  try {
    await target.load(source, async (insert) => {
      for (const table of source.tables)
        for await (const rows of source.rows(table)) await insert(table.name, rows);
    });
    await target.commit();
  } catch (error) {
    await target.discard();
    throw error;
  } finally {
    await source.close();
  }
}

bothDatabases("rows keep every digit, byte and NULL through another database and back", async (kind) => {
  await using folder = await tempFolder();
  await using back = await tempFolder();
  const place = await newDatabase(kind, folder.path);
  await (await openDatabase(settingsFor(place.url), hub, { create: true })).close();
  const other = await newDatabase(kind === "sqlite" ? "postgres" : "sqlite", folder.path);
  const again = await newDatabase(kind, back.path);
  const bytes = kind === "sqlite" ? "x'00ff10'" : "'\\x00ff10'";
  await place.run(
    `INSERT INTO js_worker (name, js_script, js_byte_code, env, create_at, update_at, max_run_time)
     VALUES ('w', 'line 1
line "2" é \u{1f600}', ${bytes}, '{"b":[1,2.50,{"a":null}],"n":12345678901234567890}', 9223372036854775807, -9223372036854775808, NULL)`,
  );
  await place.run(
    "INSERT INTO monitoring_uuid (id, uuid, soft_delete) VALUES (41, '0b6c2f6e-6b0a-4e0f-9a4e-2f6d8f1c9a11', true)",
  );
  await place.run(
    "INSERT INTO monitoring_uuid (id, uuid, soft_delete) VALUES (77, '0b6c2f6e-6b0a-4e0f-9a4e-2f6d8f1c9a12', false)",
  );
  await place.run("DELETE FROM monitoring_uuid WHERE id = 77");
  const before = await rowsOf(place.url);
  await copy(place.url, other.url);
  await copy(other.url, again.url);
  expect(await rowsOf(again.url)).toEqual(before);
  expect(before.js_worker?.[0]).toContainEqual({ integer: "9223372036854775807" });
  expect(before.js_worker?.[0]).toContainEqual({ blob: "AP8Q" });
  await Promise.all([place.drop(), other.drop(), again.drop()]);
});

/** Rows of `kv` without those that tell what migrations mean for other versions. */
function withoutMigrations<Row extends readonly unknown[]>(rows: readonly Row[]): Row[] {
  return rows.filter((row) => row[1] !== "migrations");
}

bothDatabases(
  "a database that a server uses is not replaced, and what was read of it is one state",
  async (kind) => {
    await using folder = await tempFolder();
    await using elsewhere = await tempFolder();
    const place = await newDatabase(kind, folder.path);
    const database = await openDatabase(settingsFor(place.url), hub, { create: true });
    // On SQLite the server's lock tells it, on PostgreSQL its sessions.
    const lock = new ServerLock();
    (await lock.prepare(databaseFile(place.url))).commit();
    await expect(openLoadTarget(settingsFor(place.url), hub)).rejects.toThrow(
      kind === "sqlite"
        ? /in use by another node-server/
        : /a node-server uses this database \(\d+ connections from/,
    );
    const snapshot = await openSnapshot(settingsFor(place.url), hub);
    await place.run("INSERT INTO kv (namespace, key, value) VALUES ('n', 'k', '1')");
    await place.run("CREATE TABLE of_the_operator (id int)");
    const kv = snapshot.tables.find(({ name }) => name === "kv");
    expect(kv && withoutMigrations((await Array.fromAsync(snapshot.rows(kv))).flat())).toEqual([]);
    expect(snapshot.otherTables).toEqual([]);
    await snapshot.close();
    lock.close();
    await database.close();
    const later = await openSnapshot(settingsFor(place.url), hub);
    expect(later.otherTables).toEqual(["of_the_operator"]);
    await later.close();
    const other = await newDatabase(kind, elsewhere.path);
    await copy(place.url, other.url);
    expect(withoutMigrations((await rowsOf(other.url)).kv ?? [])).toEqual([
      [expect.any(Number), "n", "k", "1"],
    ]);
    await Promise.all([place.drop(), other.drop()]);
  },
);

test("values of other types than their column's stay what they are on SQLite, and are named where PostgreSQL refuses them", async () => {
  await using folder = await tempFolder();
  await using elsewhere = await tempFolder();
  const place = await newDatabase("sqlite", folder.path);
  await (await openDatabase(settingsFor(place.url), hub, { create: true })).close();
  const odd = ["'text'", "1.5", "9e999", "x'00'", "NULL", "''", "1.0"];
  for (const [at, value] of odd.entries())
    await place.run(
      `INSERT INTO crontab_result (id, cron_id, cron_name, success, run_time) VALUES (${at + 1}, 1, 'odd', 7, ${value})`,
    );
  const other = await newDatabase("sqlite", elsewhere.path);
  await copy(place.url, other.url);
  const rows = (await rowsOf(other.url)).crontab_result;
  expect(rows).toEqual((await rowsOf(place.url)).crontab_result);
  expect(rows?.map((row) => row[4])).toEqual([
    "text",
    { real: "1.5" },
    { real: "Infinity" },
    { blob: "AA==" },
    null,
    "",
    // The column has integer affinity.
    1,
  ]);
  const postgres = await newDatabase("postgres", folder.path);
  await expect(copy(place.url, postgres.url)).rejects.toThrow(
    /the row with id 1 of the table crontab_result cannot be written: .*bigint/,
  );
  await place.run("DELETE FROM crontab_result");
  await place.run("INSERT INTO kv (namespace, key, value) VALUES ('n', 'k', 'no JSON')");
  await expect(copy(place.url, postgres.url)).rejects.toThrow(
    /row with id \d+ of the table kv cannot be written: .*json/,
  );
  await place.run("UPDATE kv SET value = '1', key = 'a' || char(0) || 'b' WHERE namespace = 'n'");
  await expect(copy(place.url, postgres.url)).rejects.toThrow(
    /row with id \d+ of the table kv cannot be written/,
  );
  await place.run("UPDATE kv SET key = 'a' WHERE namespace = 'n'");
  await copy(place.url, postgres.url);
  expect(withoutMigrations((await rowsOf(postgres.url)).kv ?? [])).toEqual([
    [expect.any(Number), "n", "a", "1"],
  ]);
  await postgres.drop();
});
