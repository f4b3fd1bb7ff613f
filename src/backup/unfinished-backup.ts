import { randomBytes } from "node:crypto";
import { lstat, rm } from "node:fs/promises";
import { codeOf } from "../base/fault.ts";
import type { Folder } from "../base/local-fs/folder.ts";
import { isRunning } from "../base/process.ts";

const form = /^\.node-server-backup-(\d+)-[0-9a-f]{16}\.tmp$/;

/**
 * The time without a write after which the file of a process that does not run here is a leftover. A folder may be shared with
 * other machines and containers, whose processes cannot be seen.
 */
const minIdleMs = 600_000;

/** `unfinishedName` is a new name for a backup that is being written. It contains the process id. */
export function unfinishedName(): string {
  return `.node-server-backup-${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
}

/** `clearUnfinished` removes the unfinished backups that killed processes of this user left in a folder. */
export async function clearUnfinished(folder: Folder): Promise<void> {
  for (const name of await folder.names()) {
    const [, pid] = form.exec(name) ?? [];
    // In a container the next process often has the same id: this one has not begun its file yet.
    if (pid === undefined || (Number(pid) !== process.pid && isRunning(Number(pid)))) continue;
    try {
      const stats = await lstat(folder.at(name));
      const isMine = stats.uid === (process.geteuid?.() ?? stats.uid);
      if (stats.isFile() && isMine && Math.abs(Date.now() - stats.mtimeMs) >= minIdleMs)
        await rm(folder.at(name), { force: true });
    } catch (error) {
      // A file that cannot be removed now is tried again by the next backup.
      if (codeOf(error) === undefined) throw error;
    }
  }
}
