import { Database } from "bun:sqlite";
import { closeSync, openSync, readSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { sqliteLockPath } from "../../base/database-url.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { accessMessage, fileProblem, makeFile, makeFolder } from "../../base/local-fs/access.ts";
import { isRunning } from "../../base/process.ts";
import { isBusy, whenFree } from "./sqlite-connections.ts";

/** The offset of `user_version` in the header of a SQLite file: four bytes, big-endian. */
const userVersionOffset = 60;

/** The time that a process usually takes at most between its lock and writing its process id. */
const writesItsNameMs = 500;

/** The time that it is given if no running process is named by then: it may have been stopped in between. */
const maxNamelessMs = 5000;

/**
 * The locks of this process. POSIX locks belong to the process, not to the handle: opening and closing a lock file here would
 * release the lock on it, so a file that this process has locked is never opened again.
 */
const lockedByThisProcess = new Set<string>();

/** `canonicalPath` returns the real path of a database, with all links resolved. It creates the folder. */
export function canonicalPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw cannotLock(path, error);
  }
  try {
    makeFolder(dirname(path));
    return join(realpathSync(dirname(path)), basename(path));
  } catch (error) {
    throw cannotLock(path, error);
  }
}

/**
 * `lockSqlite` allows one server per SQLite file, and returns a function that releases the lock. SQLite itself takes an exclusive
 * lock of the operating system on a small file beside the database, so it ends with its process in every case. The process id is
 * stored in that file's header, which a second server can read without the lock. Throws DatabaseError that names the process.
 */
export async function lockSqlite(path: string): Promise<() => void> {
  const real = canonicalPath(path);
  const lockPath = sqliteLockPath(real);
  if (lockedByThisProcess.has(lockPath)) throw inUse(path, process.pid);
  lockedByThisProcess.add(lockPath);
  let lock: Database;
  try {
    // Of several processes that ask at the same moment one gets the lock; the others wait until it has written its process id.
    lock = await acquireLockOrWaitForName(lockPath, real);
  } catch (error) {
    lockedByThisProcess.delete(lockPath);
    if (isBusy(error)) throw inUse(path, holderOf(lockPath));
    throw cannotLock(path, error, lockPath);
  }
  return () => {
    lockedByThisProcess.delete(lockPath);
    lock.close();
  };
}

async function acquireLockOrWaitForName(lockPath: string, database: string): Promise<Database> {
  const deadline = performance.now() + maxNamelessMs;
  for (;;) {
    try {
      return await whenFree(() => acquireLock(lockPath, database), writesItsNameMs);
    } catch (error) {
      if (!isBusy(error) || isNamed(lockPath) || performance.now() > deadline) throw error;
    }
  }
}

function acquireLock(lockPath: string, database: string): Database {
  try {
    return tryLock(lockPath, database);
  } catch (error) {
    // A power loss may leave garbage. A process that holds the lock has a valid file, so nobody holds this one.
    if (codeOf(error) !== "SQLITE_NOTADB" && codeOf(error) !== "SQLITE_CORRUPT") throw error;
    rmSync(lockPath, { force: true });
    return tryLock(lockPath, database);
  }
}

/** Everybody may read a lock file, so that a second server can name the first. */
const lockFileMode = 0o644;

function tryLock(lockPath: string, database: string): Database {
  makeFile(lockPath, lockFileMode, database);
  const lock = new Database(lockPath, { create: true, readwrite: true });
  try {
    // The journal stays in memory: the file's content is worthless after a crash.
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("PRAGMA synchronous = OFF");
    lock.run("BEGIN EXCLUSIVE");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run(`PRAGMA user_version = ${process.pid}`);
    lock.run("COMMIT");
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Whether the file names a running process; a name that an earlier holder left is that of one that has ended. */
function isNamed(lockPath: string): boolean {
  const pid = holderOf(lockPath);
  return pid !== 0 && isRunning(pid);
}

function holderOf(lockPath: string): number {
  const file = openSync(lockPath, "r");
  try {
    const bytes = Buffer.alloc(4);
    readSync(file, bytes, 0, 4, userVersionOffset);
    return bytes.readUInt32BE();
  } finally {
    closeSync(file);
  }
}

function inUse(path: string, pid: number): Fault {
  const detail = `the database ${path} is in use by another node-server, process ${pid}; stop that one, or name another database`;
  return new Fault("DatabaseError", detail, { pid });
}

function cannotLock(path: string, error: unknown, lockPath?: string): Fault {
  const problem = lockPath === undefined ? undefined : fileProblem(lockPath);
  const why =
    problem === undefined
      ? `the database ${path} cannot be opened: ${messageOf(error)}`
      : accessMessage({ name: "the database", path, failed: "cannot be locked" }, problem);
  return new Fault("DatabaseError", why, { path }, { cause: error });
}

/**
 * ServerLock is a server's exclusive lock on its SQLite file. A reload moves it to another file without a moment in which neither
 * is locked.
 */
export class ServerLock {
  #held: { readonly file: string; readonly unlock: () => void } | undefined;

  /**
   * Locks `file` in addition to the present one (undefined: PostgreSQL, which needs no lock). `commit` releases the present lock,
   * `discard` the new one. Throws DatabaseError if another server has the file.
   */
  async prepare(file: string | undefined): Promise<{ commit(): void; discard(): void }> {
    const real = file === undefined ? undefined : canonicalPath(file);
    if (real !== undefined && real === this.#held?.file) return { commit() {}, discard() {} };
    const next = real === undefined ? undefined : { file: real, unlock: await lockSqlite(real) };
    return {
      commit: () => {
        this.close();
        this.#held = next;
      },
      discard: () => next?.unlock(),
    };
  }

  close(): void {
    this.#held?.unlock();
    this.#held = undefined;
  }
}
