import { constants, Database as SqliteDatabase } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { parseDatabaseUrl } from "../base/database-url.ts";
import { Fault, messageOf } from "../base/fault.ts";
import type { LogHub } from "../log/hub.ts";
import { damagedRow } from "./collection.ts";
import { type DatabaseSettings, openDialect } from "./database.ts";
import {
  migrationsNamespace,
  type NewerMigration,
  readNewer,
  refuseNewer,
  toNewer,
} from "./migrations/migrate.ts";
import { unknownVersions } from "./migrations/migrations.ts";
import { CertificateRows, certificateKeysNamespace } from "./rows/certificate-rows.ts";
import {
  ContentNames,
  namesContent,
  StoreIdentityRows,
  type StoreValue,
  storeKey,
  storeNamespace,
} from "./rows/store-rows.ts";
import { TokenRows } from "./rows/token-rows.ts";
import { sqliteSql } from "./sqlite/sqlite.ts";

/** DatabaseState is what a start would find; `ready` is a database of this server with a Super Token. */
export type DatabaseState = "missing" | "empty" | "ready";

interface ProbedDatabase {
  readonly state: DatabaseState;
  /** Whether it names files whose content is in an object store. False also if that cannot be read now. */
  readonly namesContent: boolean;
  /** Which store its files are in, as far as that can be read now. */
  readonly store?: StoreValue | undefined;
  /** Private keys of certificates, encrypted, as far as they can be read now. */
  readonly sealedKeys?: ReadonlyMap<string, string>;
}

/** `probeDatabase` connects and reads, and creates nothing. Throws if a server could not use the database. */
export async function probeDatabase(settings: DatabaseSettings, hub: LogHub): Promise<ProbedDatabase> {
  const location = parseDatabaseUrl(settings.database_url);
  if ("sqlite" in location) return probeSqlite(location.sqlite.path);
  const dialect = await openDialect({ ...settings, max_connections: 1 }, hub);
  try {
    if (!(await dialect.hasSchema())) return withoutContent("empty");
    refuseNewer(await readNewer(dialect));
    if ((await new TokenRows(dialect).superToken()) === undefined) return withoutContent("empty");
    const names = new ContentNames(dialect);
    const store = await new StoreIdentityRows(dialect).read();
    const sealedKeys = await new CertificateRows(dialect).keys.list();
    return { state: "ready", namesContent: await names.haveContent(), store, sealedKeys };
  } finally {
    await dialect.close();
  }
}

function probeSqlite(path: string): ProbedDatabase {
  if (!existsSync(path)) return withoutContent("missing");
  if (statSync(path).size === 0) return withoutContent("empty");
  const hasLog = existsSync(`${path}-wal`);
  // A server crashed here. Reading its write-ahead log would create a shared-memory file, which the next start does.
  if (hasLog && !existsSync(`${path}-shm`)) return withoutContent("ready");
  let file: SqliteDatabase | undefined;
  try {
    file = hasLog ? new SqliteDatabase(path, { readonly: true }) : openImmutable(path);
    if (file.query("SELECT 1 FROM sqlite_master WHERE name = 'seaql_migrations'").get() === null)
      return withoutContent("empty");
    refuseNewer(newerIn(file));
    if (file.query("SELECT 1 FROM token WHERE id = 1").get() === null) return withoutContent("empty");
    return {
      state: "ready",
      namesContent: file.query(namesContent(sqliteSql)).get() !== null,
      store: storeIn(file),
      sealedKeys: sealedKeysIn(file),
    };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("DatabaseError", `the database ${path} cannot be read: ${messageOf(error)}`, { path });
  } finally {
    file?.close();
  }
}

function newerIn(file: SqliteDatabase): NewerMigration[] {
  const rows = file.query("SELECT version FROM seaql_migrations ORDER BY version").all() as {
    readonly version: string;
  }[];
  return unknownVersions(rows.map(({ version }) => version)).map((version) =>
    toNewer(version, valueIn(file, migrationsNamespace, version)),
  );
}

function storeIn(file: SqliteDatabase): StoreValue | undefined {
  return valueIn(file, storeNamespace, storeKey) as StoreValue | undefined;
}

function sealedKeysIn(file: SqliteDatabase): Map<string, string> {
  const rows = file.query("SELECT key FROM kv WHERE namespace = ?").all(certificateKeysNamespace) as {
    readonly key: string;
  }[];
  return new Map(rows.map(({ key }) => [key, String(valueIn(file, certificateKeysNamespace, key))]));
}

function valueIn(file: SqliteDatabase, namespace: string, key: string): unknown {
  const row = file.query("SELECT value FROM kv WHERE namespace = ? AND key = ?").get(namespace, key) as {
    readonly value: string;
  } | null;
  if (row === null) return undefined;
  try {
    return JSON.parse(row.value);
  } catch (error) {
    throw damagedRow({ namespace, key }, error);
  }
}

function withoutContent(state: DatabaseState): ProbedDatabase {
  return { state, namesContent: false };
}

/** `openImmutable` opens the file without side files, which even a reader would create, with the wrong owner. */
function openImmutable(path: string): SqliteDatabase {
  const url = `file:${path.split("/").map(encodeURIComponent).join("/")}?immutable=1`;
  return new SqliteDatabase(url, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
}
