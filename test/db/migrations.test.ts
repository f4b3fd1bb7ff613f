import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { type Database, openDatabase } from "../../src/db/database.ts";
import { postgresSql } from "../../src/db/postgres/postgres.ts";
import { blobOf, folderOf } from "../../src/db/rows/entry-rows.ts";
import type { TokenRow } from "../../src/db/rows/token-rows.ts";
import { sqliteSql } from "../../src/db/sqlite/sqlite.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { bothDatabases, configText, newDatabase, tempFolder } from "../support/node.ts";
import { freePort, newPostgresDatabase } from "../support/postgres.ts";

const main = join(import.meta.dir, "../../src/main.ts");

const open = (url: string): Promise<Database> =>
  openDatabase(settingsFor(url), new LogHub(), { create: true });

async function read<T>(url: string, statement: string): Promise<T[]> {
  await using sql = new SQL({ url, max: 1 });
  return [...((await sql.unsafe(statement)) as T[])];
}

const versions = (url: string) =>
  read<{ version: string; applied_at: number }>(
    url,
    "SELECT version, applied_at FROM seaql_migrations ORDER BY version",
  );

bothDatabases("a database that is opened again keeps its rows and its record of migrations", async (kind) => {
  await using folder = await tempFolder();
  const place = await newDatabase(kind, folder.path);
  const before = Date.now();
  await (await open(place.url)).close();
  const first = await versions(place.url);
  expect(first.length).toBeGreaterThan(0);
  for (const { applied_at } of first) {
    expect(Number(applied_at)).toBeGreaterThanOrEqual(before);
    expect(Number(applied_at)).toBeLessThanOrEqual(Date.now());
  }
  await place.run(
    "INSERT INTO crontab (name, enable, cron_expression, cron_type) VALUES ('kept', true, '*', '{}')",
  );
  await (await open(place.url)).close();
  expect(await versions(place.url)).toEqual(first);
  expect(await read(place.url, "SELECT name FROM crontab")).toMatchObject([{ name: "kept" }]);
  await place.drop();
});

bothDatabases(
  "a step that fails leaves nothing behind, and is done whole by the next start",
  async (kind) => {
    await using folder = await tempFolder();
    const place = await newDatabase(kind, folder.path);
    await read(place.url, "SELECT 1").catch(() => undefined);
    await (await open(place.url)).close();
    const tables = [
      "monitoring_uuid",
      "static_monitoring",
      "dynamic_monitoring",
      "token",
      "kv",
      "task",
      "crontab",
    ];
    const all = (await versions(place.url)).length;
    await place.run("DELETE FROM seaql_migrations");
    for (const table of tables.filter((name) => name !== "kv")) await place.run(`DROP TABLE ${table}`);

    await expect(open(place.url)).rejects.toMatchObject({
      kind: "DatabaseError",
      detail: expect.stringContaining("exists"),
    });
    expect(await versions(place.url)).toEqual([]);
    await expect(read(place.url, "SELECT * FROM monitoring_uuid")).rejects.toThrow(/monitoring_uuid/);

    for (const { name } of await read<{ name: string }>(
      place.url,
      kind === "sqlite"
        ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('sqlite_sequence', 'seaql_migrations')"
        : "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'seaql_migrations'",
    ))
      await place.run(`DROP TABLE "${name}"`);
    await (await open(place.url)).close();
    expect(await versions(place.url)).toHaveLength(all);
    expect(await read(place.url, "SELECT * FROM monitoring_uuid")).toHaveLength(0);
    await place.drop();
  },
);

bothDatabases(
  "a database from before tokens had a maker is brought up to date, its tokens kept",
  async (kind) => {
    await using folder = await tempFolder();
    const place = await newDatabase(kind, folder.path);
    await (await open(place.url)).close();
    await place.run("ALTER TABLE token DROP COLUMN created_by");
    await place.run("DELETE FROM seaql_migrations WHERE version = 'm20261115_000002_token_created_by'");
    await place.run("INSERT INTO token (token_key, token_hash, token_limit) VALUES ('old', '', '[]')");
    const database = await open(place.url);
    expect(await Array.fromAsync(database.tokens.list())).toMatchObject([{ key: "old", createdBy: null }]);
    await database.close();
    await place.drop();
  },
);

bothDatabases(
  "a database whose skeletons were made without other writing systems gets new ones, and none twice",
  async (kind) => {
    await using folder = await tempFolder();
    const place = await newDatabase(kind, folder.path);
    await (await open(place.url)).close();
    await place.run("DELETE FROM seaql_migrations WHERE version LIKE 'm20261116_000001%'");
    const rows = ["admin|admin", "ꓮꓓꓟꓲꓠ|ꓮꓓꓟꓲꓠ", "ꭺ|ꭺ", "A|a", "Bo|bo"].map((row, at) => {
      const [name, skeleton] = row.split("|");
      return `('key-${at}', '', '[]', '${name}', '${skeleton}')`;
    });
    await place.run(
      `INSERT INTO token (token_key, token_hash, token_limit, username, username_skeleton) VALUES ${rows.join()}`,
    );
    await (await open(place.url)).close();
    expect(
      await read(place.url, "SELECT username, username_skeleton AS skeleton FROM token ORDER BY id"),
    ).toMatchObject([
      { username: "admin", skeleton: "admin" },
      { username: "ꓮꓓꓟꓲꓠ", skeleton: null },
      { username: "ꭺ", skeleton: "a" },
      { username: "A", skeleton: null },
      { username: "Bo", skeleton: "bo" },
    ]);
    await place.drop();
  },
);

bothDatabases(
  "a database from before skeletons were stored gets them, and of alike names the oldest token's counts",
  async (kind) => {
    await using folder = await tempFolder();
    const place = await newDatabase(kind, folder.path);
    await (await open(place.url)).close();
    await place.run("DROP INDEX idx_token_username_skeleton");
    await place.run("ALTER TABLE token DROP COLUMN username_skeleton");
    await place.run(
      "DELETE FROM seaql_migrations WHERE version = 'm20261115_000003_token_username_skeleton'",
    );
    // More than one page of them.
    const names = [
      "Anna",
      "anna",
      "\u200b",
      ...Array.from({ length: 1200 }, (_, at) => `Name ${at}`),
      "АNNА",
    ];
    const rows = names.map((name, at) => `('key-${at}', '', '[]', '${name}')`);
    await place.run(`INSERT INTO token (token_key, token_hash, token_limit, username) VALUES ${rows.join()}`);
    await place.run("INSERT INTO token (token_key, token_hash, token_limit) VALUES ('nameless', '', '[]')");

    const database = await open(place.url);
    const stored = await read<{ username: string | null; skeleton: string | null }>(
      place.url,
      "SELECT username, username_skeleton AS skeleton FROM token ORDER BY id",
    );
    expect(stored.map(({ skeleton }) => skeleton)).toEqual([
      "anna",
      null,
      null,
      ...Array.from({ length: 1200 }, (_, at) => `name ${at}`),
      null,
      null,
    ]);
    expect(await database.tokens.byUsername("АNNА")).toMatchObject({ key: "key-1203" });
    const { id, isSuper, version, ...token } = (await database.tokens.byUsername("anna")) as TokenRow;
    const insert = (username: string) =>
      database.tokens.insert({ ...token, key: `new ${username}`, username });
    expect(await insert("ANNA")).toBe("confusable");
    expect(await insert("name 1199")).toBe("confusable");
    expect(await insert("Name 1199")).toBe("taken");
    expect(await insert("anna")).toBe("taken");
    expect(await insert("key-7")).toBe("taken");
    expect(await insert("Berta")).toBe("inserted");
    await database.close();
    await place.drop();
  },
);

bothDatabases(
  "a database from before rows were found by their content gets the indexes, whatever its rows are",
  async (kind) => {
    await using folder = await tempFolder();
    const place = await newDatabase(kind, folder.path);
    await (await open(place.url)).close();
    for (const index of ["idx_kv_blob", "idx_kv_folder"]) await place.run(`DROP INDEX ${index}`);
    await place.run("DELETE FROM seaql_migrations WHERE version = 'm20261119_000002_rows_by_content'");
    const values: Record<string, string> = {
      "static-files/root": '{"blob":"b","hash":"h","size":1}',
      "static-files/removed/site": '{"path":"f","entry":{"id":"f"},"at":1,"until":2}',
      "static-files/list": "[1]",
      "static-files/text": '"blob"',
      mine: '{"blob":"c"}',
    };
    for (const [namespace, value] of Object.entries(values))
      await place.run(`INSERT INTO kv (namespace, key, value) VALUES ('${namespace}', 'k', '${value}')`);
    // SQLite takes any text as JSON.
    if (kind === "sqlite")
      await place.run("INSERT INTO kv (namespace, key, value) VALUES ('static-files/x', 'k', '{')");
    const database = await open(place.url);
    expect(await database.removed.names.namedAmong(["b", "c"])).toEqual(new Set(["b"]));
    await database.close();
    const dialect = kind === "sqlite" ? sqliteSql : postgresSql;
    for (const [index, named] of [
      ["idx_kv_blob", blobOf(dialect)],
      ["idx_kv_folder", folderOf(dialect)],
    ]) {
      const question = `SELECT id FROM kv WHERE (${named}) IS NOT NULL AND (${named}) IN ('b', 'f')`;
      const plan =
        kind === "sqlite"
          ? await read(place.url, `EXPLAIN QUERY PLAN ${question}`)
          : await read(place.url, `SET enable_seqscan = off; EXPLAIN ${question}`);
      expect(JSON.stringify(plan)).toContain(String(index));
    }
    await place.drop();
  },
);

bothDatabases("a database made by a newer version is refused and left alone", async (kind) => {
  await using folder = await tempFolder();
  const place = await newDatabase(kind, folder.path);
  await (await open(place.url)).close();
  await place.run("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m99990101_000001_future', 1)");
  const before = await versions(place.url);
  await expect(open(place.url)).rejects.toMatchObject({
    kind: "DatabaseError",
    detail: expect.stringMatching(
      /newer version of node-server \(migration m99990101_000001_future\).*database_url/,
    ),
  });
  expect(await versions(place.url)).toEqual(before);
  await place.drop();
});

test("four that open one empty PostgreSQL at the same moment all come up", async () => {
  const place = await newPostgresDatabase();
  const opened = await Promise.all([1, 2, 3, 4].map(() => open(place.url)));
  const applied = (await versions(place.url)).map(({ version }) => version);
  expect(applied).toEqual([...new Set(applied)]);
  for (const database of opened) await database.close();
  await place.drop();
});

test("processes that start on one empty SQLite file at the same moment all come up, and one shows the Super Token", async () => {
  await using folder = await tempFolder();
  const configPath = join(folder.path, "config.toml");
  await writeFile(configPath, configText(`sqlite://${folder.path}/data/node.db?mode=rwc`));
  const { RUST_LOG: _, ...env } = process.env;
  const runs = [1, 2, 3].map(() =>
    Bun.spawn([process.execPath, main, "init", "-c", configPath], { env, stdout: "pipe", stderr: "pipe" }),
  );
  const ends = await Promise.all(
    runs.map(async (run) => ({
      code: await run.exited,
      out: await new Response(run.stdout).text(),
      err: await new Response(run.stderr).text(),
    })),
  );
  expect(ends.filter(({ code }) => code !== 0)).toEqual([]);
  expect(ends.filter(({ out }) => out.includes("Super Token:"))).toHaveLength(1);
  // A busy machine needs that long to start three programs from source side by side.
}, 60_000);

test("a PostgreSQL that cannot be reached is told with its place and without its password", async () => {
  const port = await freePort();
  const error = await open(`postgres://someone:hunter2@127.0.0.1:${port}/shop`).catch(
    (error: unknown) => error,
  );
  expect(error).toMatchObject({ kind: "DatabaseError", code: 103 });
  expect(String(error)).toContain(`PostgreSQL at 127.0.0.1:${port}/shop cannot be reached`);
  expect(String(error)).not.toContain("hunter2");
});

test("a PostgreSQL that accepts and then says nothing is given up after timeout_ms", async () => {
  const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const settings = {
    ...settingsFor(`postgres://someone@127.0.0.1:${silent.port}/shop`),
    timeout_ms: 200,
  };
  await expect(openDatabase(settings, new LogHub(), { create: true })).rejects.toMatchObject({
    kind: "DatabaseError",
    detail: expect.stringContaining("cannot be reached"),
  });
  silent.stop(true);
});

test("a database or user that PostgreSQL does not have is told in its own words, with what to do", async () => {
  const place = await newPostgresDatabase();
  const name = `${new URL(place.url).pathname.slice(1)}_absent`;
  await expect(open(`${place.url}_absent`)).rejects.toMatchObject({
    kind: "DatabaseError",
    detail: expect.stringContaining(
      `/${name} cannot be used: database "${name}" does not exist; create it as a superuser of PostgreSQL (CREATE DATABASE "${name}" OWNER "postgres"), or name another in database_url`,
    ),
  });
  await expect(open(place.url.replace("postgres@", "nosuch@"))).rejects.toMatchObject({
    detail: expect.stringMatching(
      /cannot be used: role "nosuch" does not exist; correct the user in database_url, or /,
    ),
  });
  await place.drop();
});
