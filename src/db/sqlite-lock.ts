import { Database } from "bun:sqlite";
import { closeSync, mkdirSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf, Fault } from "../base/fault.ts";

/** Where SQLite keeps `user_version` in the header of a file: four bytes, big-endian. */
const userVersionOffset = 60;

/**
 * One server per SQLite file. The lock is an exclusive lock of the operating system, taken by SQLite itself on
 * a small file beside the database, so it goes when its process goes, however that ends. The holder's process id
 * stands in that file's header, where a second server can read it past the lock.
 */
export function lockSqlite(path: string): () => void {
  const lockPath = `${path}.lock`;
  mkdirSync(dirname(path), { recursive: true });
  const lock = new Database(lockPath, { create: true, readwrite: true });
  try {
    // The journal stays in memory: the file's content is worth nothing after a crash.
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("PRAGMA synchronous = OFF");
    lock.run(`PRAGMA user_version = ${process.pid}`);
  } catch (error) {
    lock.close();
    if (codeOf(error) !== "SQLITE_BUSY") throw error;
    throw new Fault(
      "DatabaseError",
      `the database ${path} is in use by another node-server, process ${holderOf(lockPath)}; stop that one, or name another database`,
      { pid: holderOf(lockPath) },
    );
  }
  return () => lock.close();
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
