import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { lchown, link, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import { inheritedOwner } from "../../base/local-fs/access.ts";
import { Folder } from "../../base/local-fs/folder.ts";
import { formerPath, isTemporaryName, temporaryName } from "../../base/local-fs/replace-file.ts";
import type { Dialect } from "../dialect.ts";
import { schemaScope } from "../scopes.ts";
import { canonicalPath, lockSqlite } from "../sqlite/sqlite-lock.ts";
import type { DatabaseShape, DatabaseSnapshot } from "./portable.ts";
import { openSqliteSnapshot } from "./sqlite-snapshot.ts";
import { type InsertRows, type LoadReport, type LoadTarget, loadTables } from "./table-loader.ts";

const sideFiles = ["-wal", "-shm"];

/** SqliteLoadTarget builds a new file beside the database, which then takes its place; the former one is kept under another name. */
export class SqliteLoadTarget implements LoadTarget {
  readonly #path: string;
  readonly #newPath: string;
  readonly #unlock: () => void;
  readonly #openDialect: (path: string) => Promise<Dialect>;

  private constructor(path: string, unlock: () => void, openDialect: (path: string) => Promise<Dialect>) {
    this.#path = path;
    this.#newPath = join(dirname(path), temporaryName(basename(path)));
    this.#unlock = unlock;
    this.#openDialect = openDialect;
  }

  /** The server's own lock keeps a server from starting meanwhile, and fails if one runs. */
  static async open(
    path: string,
    openDialect: (path: string) => Promise<Dialect>,
  ): Promise<SqliteLoadTarget> {
    const real = canonicalPath(path);
    const unlock = await lockSqlite(real);
    await clearUnfinished(real);
    return new SqliteLoadTarget(real, unlock, openDialect);
  }

  async load(shape: DatabaseShape, work: (insert: InsertRows) => Promise<void>): Promise<LoadReport> {
    const dialect = await this.#openDialect(this.#newPath);
    try {
      return await dialect.exclusively(schemaScope, (transaction) =>
        loadTables(dialect, transaction, { shape, work }),
      );
    } finally {
      // The last connection moves everything from the -wal file into the database.
      await dialect.close();
    }
  }

  loaded(): Promise<DatabaseSnapshot> {
    return openSqliteSnapshot(this.#newPath);
  }

  async commit(): Promise<string | undefined> {
    const folder = await Folder.open(dirname(this.#path));
    try {
      await sync(this.#newPath);
      await this.#takeOwner();
      const kept = await this.#keepOld();
      await rename(this.#newPath, this.#path);
      await folder.sync();
      await this.discard();
      return kept;
    } finally {
      await folder.close();
    }
  }

  async discard(): Promise<void> {
    await this.#removeNew();
    this.#unlock();
  }

  async #takeOwner(): Promise<void> {
    const owner = inheritedOwner(this.#path);
    if (owner !== undefined) await lchown(this.#newPath, owner.uid, owner.gid);
  }

  /** Gives the former file a second name, so that there is a database at its path at every moment. */
  async #keepOld(): Promise<string | undefined> {
    const exists = existsSync(this.#path);
    if (exists) foldLog(this.#path);
    const kept = formerPath(this.#path, sideFiles);
    if (exists) await link(this.#path, kept);
    // Usually SQLite has removed them. They remain of a damaged or missing file, and SQLite would apply them to the new one.
    for (const end of sideFiles) await renameIfThere(this.#path + end, kept + end);
    return exists ? kept : undefined;
  }

  async #removeNew(): Promise<void> {
    for (const end of ["", ...sideFiles, "-journal"]) await rm(this.#newPath + end, { force: true });
  }
}

/** `clearUnfinished` removes the new files of processes that were killed. The lock shows that none of them still runs. */
async function clearUnfinished(path: string): Promise<void> {
  for (const name of await readdir(dirname(path)))
    if (isTemporaryName(name.replace(/-(wal|shm|journal)$/, ""), basename(path)))
      await rm(join(dirname(path), name), { force: true });
}

/** `foldLog` moves what the -wal file holds into the database. A damaged database stays as it is. */
function foldLog(path: string): void {
  // Beside a file that is no database SQLite deletes the -wal file.
  if (!isSqlite(path)) return;
  let busy: bigint | number = 0;
  try {
    using file = new Database(path, { readwrite: true });
    file.run("PRAGMA busy_timeout = 5000");
    busy = (file.query("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number } | null)?.busy ?? 0;
  } catch (error) {
    if (codeOf(error)?.startsWith("SQLITE_") !== true) throw error;
  }
  if (Number(busy) !== 0)
    throw new Fault("DatabaseError", `another program has the database ${path} open; close it and try again`);
}

function isSqlite(path: string): boolean {
  const header = Buffer.alloc(16);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, header.length, 0);
    return header.toString("latin1") === "SQLite format 3\0";
  } finally {
    closeSync(file);
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await lstat(from);
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
}
