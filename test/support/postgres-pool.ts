import { readFile, writeFile } from "node:fs/promises";
import { SQL } from "bun";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "./database-settings.ts";
import { administrate, newPostgresDatabase, postgresUrl } from "./postgres.ts";
import { madeOnce } from "./test-run.ts";

/** Prepared is the database that all others are copied from: it has the schema and no rows. */
interface Prepared {
  readonly name: string;
  readonly fingerprint: string;
  /** SQL that removes all rows and restarts all sequences. */
  readonly reset: string;
}

/** Changes when anything but rows changed: a table, a column, an index, a function, a setting of the database, a migration. */
const fingerprintSql = `
  SELECT md5(string_agg(line, E'\\n' ORDER BY line)) AS fingerprint FROM (
    SELECT concat_ws(' ', 'relation', oid, relname, relkind, reloptions, relrowsecurity, relhastriggers) AS line
      FROM pg_class WHERE oid >= 16384 AND relkind <> 't'
    UNION ALL SELECT concat_ws(' ', 'column', attrelid, attname, atttypid, attnotnull, attisdropped)
      FROM pg_attribute WHERE attrelid >= 16384
    UNION ALL SELECT concat_ws(' ', 'function', oid) FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT concat_ws(' ', 'type', oid) FROM pg_type WHERE oid >= 16384 AND typtype <> 'c' AND typelem = 0
    UNION ALL SELECT concat_ws(' ', 'schema', nspname) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'
    UNION ALL SELECT concat_ws(' ', 'extension', extname) FROM pg_extension
    UNION ALL SELECT concat_ws(' ', 'setting', setrole, setconfig) FROM pg_db_role_setting
      WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT concat_ws(' ', 'migration', version) FROM public.seaql_migrations
  ) AS lines`;

/** Databases of this process that can be used again, by the address of their server. */
const free = new Map<string, string[]>();

/**
 * borrowPostgresDatabase returns a database that has the schema and no rows, like one that a server has opened once. Copies are
 * made as they are needed; one that comes back unchanged but for its rows is emptied and used again, which takes a twentieth of
 * the time of a new one.
 */
export async function borrowPostgresDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const url = await postgresUrl();
  const { name: template, fingerprint, reset } = await preparedDatabase();
  const unused = free.get(url) ?? [];
  free.set(url, unused);
  const name = unused.pop() ?? (await copyOf(template, url));
  return {
    url: `${url}/${name}`,
    async drop() {
      if (await emptied(`${url}/${name}`, fingerprint, reset)) unused.push(name);
      else await administrate(url, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function copyOf(template: string, url: string): Promise<string> {
  const name = `${template}_${crypto.randomUUID().slice(0, 8)}`;
  await administrate(url, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return name;
}

/** The prepared database of this run. */
async function preparedDatabase(): Promise<Prepared> {
  const path = await madeOnce("prepared-postgres.json", async (path) => {
    await writeFile(path, JSON.stringify(await prepare()));
  });
  return JSON.parse(await readFile(path, "utf8")) as Prepared;
}

async function prepare(): Promise<Prepared> {
  const { url } = await newPostgresDatabase();
  const database = await openDatabase(settingsFor(url), new LogHub(), { create: true });
  await database.close();
  await using sql = new SQL({ url, max: 1 });
  const tables = (await sql.unsafe(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'seaql_migrations'",
  )) as { name: string }[];
  const sequences = (await sql.unsafe(
    "SELECT sequencename AS name FROM pg_sequences WHERE schemaname = 'public'",
  )) as { name: string }[];
  const reset = [
    "SET lock_timeout = '2s'",
    ...tables.map(({ name }) => `DELETE FROM public."${name}"`),
    ...sequences.map(({ name }) => `SELECT setval('public."${name}"', 1, false)`),
  ];
  return {
    name: new URL(url).pathname.slice(1),
    fingerprint: await fingerprintOf(sql),
    reset: reset.join(";\n"),
  };
}

async function fingerprintOf(sql: SQL): Promise<string> {
  const [row] = (await sql.unsafe(fingerprintSql)) as { fingerprint: string }[];
  return row?.fingerprint ?? "";
}

/** False for a database that a test has changed in more than its rows, or still uses. */
async function emptied(url: string, fingerprint: string, reset: string): Promise<boolean> {
  await using sql = new SQL({ url, max: 1 });
  try {
    const [others] = (await sql.unsafe(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )) as { count: number }[];
    if (others?.count !== 0 || (await fingerprintOf(sql)) !== fingerprint) return false;
    await sql.unsafe(reset);
    return true;
  } catch {
    // Whatever a test did to it, a new one will do.
    return false;
  }
}
