import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { codeOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import type { Context } from "../context.ts";
import { explainFileError } from "../file-error.ts";
import { stateFolder } from "../user-folders.ts";
import { hashBytes } from "./local-tree.ts";

/** UnfinishedTransfer is what a process that has died could not end. */
export interface UnfinishedTransfer {
  readonly lease: string;
  /** The deploy that it was filling. */
  readonly deploy?: string | undefined;
}

interface LockFile extends UnfinishedTransfer {
  readonly host: string;
  readonly pid: number;
}

/**
 * OwnTransferLock remembers the lock of a bucket in the user's state folder. A push that was killed or lost its connection has not
 * released its lock. With the file, the next push of the same user on the same machine need not wait until the lock expires.
 */
export class OwnTransferLock {
  readonly #path: string;

  constructor(ctx: Context, subject: { readonly server: string; readonly bucket: string }) {
    const name = hashBytes(new TextEncoder().encode(JSON.stringify(subject))).slice(0, 32);
    this.#path = join(stateFolder(ctx), "leases", `${name}.json`);
  }

  unfinished(): UnfinishedTransfer | undefined {
    try {
      const { lease, deploy, host, pid } = JSON.parse(readFileSync(this.#path, "utf8")) as LockFile;
      return host === hostname() && !isAlive(pid) ? { lease, deploy } : undefined;
    } catch {
      // Without the file, or with a damaged one, the lock expires within a minute.
      return undefined;
    }
  }

  async save(transfer: UnfinishedTransfer): Promise<void> {
    const stored: LockFile = { ...transfer, host: hostname(), pid: process.pid };
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      await replaceFile(this.#path, `${JSON.stringify(stored)}\n`, { mode: 0o600 });
    } catch (error) {
      if (explainFileError(error) === undefined) throw error;
    }
  }

  forget(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch (error) {
      if (explainFileError(error) === undefined) throw error;
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
