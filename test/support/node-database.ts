import { Database as SqliteFile } from "bun:sqlite";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { codeOf } from "../../src/base/fault.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "./database-settings.ts";
import type { DatabaseKind, StoreKind, TestNodeOptions } from "./node.ts";
import { newPostgresDatabase } from "./postgres.ts";
import { borrowPostgresDatabase } from "./postgres-pool.ts";
import { madeOnce } from "./test-run.ts";
import { until } from "./until.ts";

/** The SQLite file that others are copied from: it has the schema and no rows. */
function preparedSqlite(): Promise<string> {
  return madeOnce("prepared.db", async (path) => {
    await (
      await openDatabase(settingsFor(`sqlite://${path}?mode=rwc`), new LogHub(), { create: true })
    ).close();
  });
}

/** A database for a server, which has the schema unless a new one is asked for. */
export function databaseFor(
  { store, database: kind = databaseOf(store), newDatabase: isNew }: TestNodeOptions,
  folder: string,
) {
  return isNew ? newDatabase(kind, folder) : migratedDatabase(kind, folder);
}

/** A database of either kind that has the schema and no rows. It costs a fraction of one that is made and migrated. */
export async function migratedDatabase(kind: DatabaseKind, folder: string) {
  if (kind === "sqlite") {
    const database = await newDatabase(kind, folder);
    await mkdir(join(folder, "data"));
    await copyFile(await preparedSqlite(), join(folder, "data", "node.db"));
    return database;
  }
  const { url, drop } = await borrowPostgresDatabase();
  return { ...postgresAt(url), drop };
}

function databaseOf(store: StoreKind | undefined): DatabaseKind {
  return store === "objects over postgres" ? "postgres" : "sqlite";
}

/** An empty database of either kind. */
export async function newDatabase(kind: DatabaseKind, folder: string) {
  if (kind === "postgres") {
    const database = await newPostgresDatabase();
    return { ...postgresAt(database.url), drop: database.drop };
  }
  const path = join(folder, "data", "node.db");
  return {
    url: `sqlite://${path}?mode=rwc`,
    async drop() {},
    async run(statement: string) {
      using file = new SqliteFile(path);
      // A server in this process may be in a transaction, which goes on only while nobody waits for it here.
      await until("the database is free", () => {
        try {
          file.run(statement);
          return true;
        } catch (error) {
          if (codeOf(error) !== "SQLITE_BUSY") throw error;
          return false;
        }
      });
    },
  };
}

/** A PostgreSQL database, with a way past the server. */
export function postgresAt(url: string) {
  return {
    url,
    async run(statement: string) {
      await using sql = new SQL({ url, max: 1 });
      await sql.unsafe(statement);
    },
  };
}
