import { Database } from "bun:sqlite";
import { closeSync, mkdirSync, openSync, readSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { isBusy, whenFree } from "./sqlite-busy.ts";

/** Where SQLite keeps `user_version` in the header of a file: four bytes, big-endian. */
const userVersionOffset = 60;

/** How long a process may take from its lock to its process id. */
const writesItsNameMs = 500;

/**
 * The locks of this process. POSIX locks belong to the process, not to the handle: opening and closing a lock file here
 * would drop the lock on it, so a file that this process holds is never looked into.
 */
const lockedByThisProcess = new Set<string>();

/** A database's one true path, however it is spelled and whatever links lead to it; its folder is made. */
export function canonicalPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw cannotLock(path, error);
  }
  try {
    mkdirSync(dirname(path), { recursive: true });
    return join(realpathSync(dirname(path)), basename(path));
  } catch (error) {
    throw cannotLock(path, error);
  }
}

/**
 * One server per SQLite file. The lock is an exclusive lock of the operating system, taken by SQLite itself on
 * a small file beside the database, so it goes when its process goes, however that ends. The holder's process id
 * stands in that file's header, where a second server can read it past the lock.
 */
export async function lockSqlite(path: string): Promise<() => void> {
  const lockPath = `${canonicalPath(path)}.lock`;
  if (lockedByThisProcess.has(lockPath)) throw inUse(path, process.pid);
  lockedByThisProcess.add(lockPath);
  let lock: Database;
  try {
    // Of several that ask at the same moment one gets it; the others wait for it to write down who it is.
    lock = await whenFree(() => takeLock(lockPath), writesItsNameMs);
  } catch (error) {
    lockedByThisProcess.delete(lockPath);
    if (isBusy(error)) throw inUse(path, holderOf(lockPath));
    throw cannotLock(path, error);
  }
  return () => {
    lockedByThisProcess.delete(lockPath);
    lock.close();
  };
}

function takeLock(lockPath: string): Database {
  try {
    return tryLock(lockPath);
  } catch (error) {
    // A power loss may leave garbage. Whoever holds the lock has a good file, so this one is nobody's.
    if (codeOf(error) !== "SQLITE_NOTADB" && codeOf(error) !== "SQLITE_CORRUPT") throw error;
    rmSync(lockPath, { force: true });
    return tryLock(lockPath);
  }
}

function tryLock(lockPath: string): Database {
  const lock = new Database(lockPath, { create: true, readwrite: true });
  try {
    // The journal stays in memory: the file's content is worth nothing after a crash.
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

function cannotLock(path: string, error: unknown): Fault {
  return new Fault(
    "DatabaseError",
    `the database ${path} cannot be opened: ${messageOf(error)}`,
    { path },
    { cause: error },
  );
}
