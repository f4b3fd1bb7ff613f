import { closeSync, constants, openSync } from "node:fs";
import { link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { tryLock } from "../base/local-fs/file-calls.ts";
import { Folder } from "../base/local-fs/folder.ts";
import { isTemporaryName } from "../base/local-fs/replace-file.ts";
import { randomText } from "../base/numbers.ts";

/**
 * Binary is the executable file of this server, with its backup (`<name>.old`) and its next version. There is a complete executable
 * at its path at every moment.
 */
export class Binary {
  readonly folder: string;
  readonly name: string;

  constructor(readonly path: string) {
    this.folder = dirname(path);
    this.name = basename(path);
  }

  get oldPath(): string {
    return `${this.path}.old`;
  }

  get statePath(): string {
    return join(this.folder, `.${this.name}.update.json`);
  }

  /** Returns a new path for a download of the next version. */
  newPath(): string {
    return join(this.folder, `${this.#newPrefix}${randomText(8)}`);
  }

  async mode(): Promise<number> {
    return (await stat(this.path)).mode & 0o777;
  }

  /** Replaces the present file by another one, and keeps it as `<name>.old` with `keepOld`. */
  async replaceWith(newPath: string, { keepOld }: { readonly keepOld: boolean }): Promise<void> {
    if (keepOld) await this.#linkOver(this.path, this.oldPath);
    await rename(newPath, this.path);
    await this.#sync();
  }

  /** Puts the old file back in place; it stays under both names. */
  async rollBack(): Promise<void> {
    await this.#linkOver(this.oldPath, this.path);
    await this.#sync();
  }

  /** Removes what a power loss left of a download. */
  async clearLeftovers(): Promise<void> {
    const note = basename(this.statePath);
    for (const name of await readdir(this.folder))
      if (name.startsWith(this.#newPrefix) || isTemporaryName(name, note))
        await rm(join(this.folder, name), { force: true });
  }

  get #newPrefix(): string {
    return `.${this.name}.new-`;
  }

  async #linkOver(from: string, to: string): Promise<void> {
    const beside = this.newPath();
    try {
      await link(from, beside);
      await rename(beside, to);
    } catch (error) {
      // Some network file systems have no hard links.
      if (!["EPERM", "EOPNOTSUPP", "ENOTSUP", "EMLINK"].includes(codeOf(error) ?? "")) throw error;
      await copyDurably(from, beside);
      await rename(beside, to);
    } finally {
      // If both names are the same file already, rename does nothing and leaves `beside`.
      await rm(beside, { force: true });
    }
  }

  async #sync(): Promise<void> {
    const folder = await Folder.open(this.folder);
    await folder.sync().finally(() => folder.close());
  }
}

async function copyDurably(from: string, to: string): Promise<void> {
  await Bun.write(Bun.file(to), Bun.file(from), { mode: (await stat(from)).mode & 0o777 });
  const copy = await open(to, "r");
  await copy.sync().finally(() => copy.close());
}

/**
 * `lockFolder` allows one update of a folder at a time, whichever process runs it. It returns a function that unlocks, or undefined
 * if another process has the lock. The lock is the operating system's, on the folder itself: it leaves no file and ends with its
 * process.
 */
export function lockFolder(folder: string): (() => void) | undefined {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  if (!tryLock(fd)) {
    closeSync(fd);
    return undefined;
  }
  return () => closeSync(fd);
}

/**
 * `execInto` replaces this process by the binary on the disk, with the same arguments and process id. It never returns: it throws
 * if that fails.
 */
export function execInto(binary: Binary): never {
  const { execve } = process;
  if (execve === undefined)
    throw new Fault("Other", "this system cannot replace a running process; restart the server yourself");
  // process.execve prints an ExperimentalWarning. All warnings are silenced: this process is about to be replaced.
  process.removeAllListeners("warning").on("warning", () => {});
  process.emitWarning = () => {};
  try {
    execve.call(
      process,
      binary.path,
      [binary.path, ...process.argv.slice(2)],
      process.env as NodeJS.ProcessEnv,
    );
  } catch (error) {
    throw new Fault("IoError", `the new binary cannot be run: ${messageOf(error)}`, {}, { cause: error });
  }
  throw new Fault("IoError", "the new binary was not run");
}
