import { constants } from "node:fs";
import { type FileHandle, open, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { Folder, isInside } from "../base/folder.ts";
import { readRegularFile } from "../base/read-regular.ts";
import { replaceIn, writeWhole } from "../base/replace-file.ts";
import { parseConfig } from "./parse.ts";
import type { Warning } from "./problem.ts";

/** A FIFO would hold up the opening for ever, a link would lead elsewhere: both are refused, not followed. */
const carefully = constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** What rename says where it cannot work: on a single file that is mounted into a container. */
const renameRefusals = new Set(["EBUSY", "EXDEV"]);

/** The configuration as callers may read and rewrite it: a regular file inside the working directory, nothing else. */
export class ConfigFile {
  #queue: Promise<unknown> = Promise.resolve();
  readonly #name: string;

  constructor(
    private readonly path: string,
    private readonly workingDirectory: string,
  ) {
    this.#name = basename(path);
  }

  /** The raw text, as it is on the disk. */
  read(): Promise<string> {
    return this.#open(constants.O_RDONLY, (file) => file.readFile("utf8"));
  }

  /** Warnings about a valid text. Throws when the text is no configuration, with what is wrong and where. */
  check(text: string): readonly Warning[] {
    return parseConfig(text, this.#name).warnings;
  }

  /** Checks the whole text, then puts it in place. Two at once: one after the other, each whole. */
  write(text: string): Promise<void> {
    const next = () => this.#write(text);
    const result = this.#queue.then(next, next);
    this.#queue = result;
    return result;
  }

  async #write(text: string): Promise<void> {
    this.check(text);
    try {
      await this.#open(constants.O_RDONLY, async (file, folder) =>
        replaceIn(folder, this.#name, text, await file.stat()),
      );
    } catch (error) {
      if (!renameRefusals.has(codeOf(error) ?? "")) throw toFault(error);
      await this.#open(constants.O_RDWR, (file, folder) => overwrite(file, folder, this.#name, text));
    }
  }

  /** Opens the folder, then the file in it, and proves on what was opened that it is a regular file inside the working directory. */
  async #open<T>(access: number, use: (file: FileHandle, folder: Folder) => Promise<T>): Promise<T> {
    let folder: Folder | undefined;
    let file: FileHandle | undefined;
    try {
      folder = await Folder.open(dirname(this.path));
      const inside = await realpath(this.workingDirectory);
      if (!isInside(folder.realPath, inside)) {
        throw new Fault(
          "InvalidInput",
          "the configuration file is outside the working directory; edit it on the machine itself",
        );
      }
      file = await open(folder.at(this.#name), access | carefully);
      if (!(await file.stat()).isFile()) throw notRegular();
    } catch (error) {
      await file?.close();
      await folder?.close();
      throw toFault(error);
    }
    try {
      return await use(file, folder);
    } finally {
      await file.close();
      await folder.close();
    }
  }
}

/** Writes in place. Until the last byte is on the disk the whole new text stands beside it; see `finishOverwrite`. */
async function overwrite(file: FileHandle, folder: Folder, name: string, text: string): Promise<void> {
  const copy = folder.at(recoveryName(name));
  try {
    await rm(copy, { force: true });
    await writeWhole(copy, text, { mode: 0o600 });
    await folder.sync();
    await fill(file, text);
    await rm(copy, { force: true });
  } catch (error) {
    throw toFault(error);
  }
}

async function fill(file: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  await file.write(bytes, 0, bytes.length, 0);
  await file.truncate(bytes.length);
  await file.sync();
}

/** A rewrite takes no longer than this. */
const cutShortMs = 60_000;

/** Finishes a rewrite in place that a crash cut short. True when there was one. */
export async function finishOverwrite(path: string): Promise<boolean> {
  const copy = recoveryName(path);
  let text: string;
  try {
    text = await readRegularFile(copy);
    // Somebody has written the configuration since.
    if ((await stat(path)).mtimeMs > (await stat(copy)).mtimeMs + cutShortMs)
      throw new Fault("Other", "the copy is old");
    // A copy that is not whole was cut short itself; then the configuration was not touched yet.
    parseConfig(text);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    if (!(error instanceof Fault)) throw toFault(error);
    await rm(copy, { force: true });
    return false;
  }
  const file = await open(path, constants.O_RDWR | carefully);
  try {
    await fill(file, text);
  } finally {
    await file.close();
  }
  await rm(copy, { force: true });
  return true;
}

function recoveryName(name: string): string {
  return `${name}.recovery`;
}

function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  switch (codeOf(error)) {
    case "ENOENT":
      return new Fault("ConfigNotFound", "the configuration file does not exist");
    case "ELOOP":
    case "ENXIO":
    case "EISDIR":
      return notRegular();
    default:
      return new Fault(
        "IoError",
        `the configuration file: ${codeOf(error) ?? messageOf(error)}`,
        {},
        { cause: error },
      );
  }
}

function notRegular(): Fault {
  return new Fault(
    "InvalidInput",
    "the configuration must be a regular file; directories, links and special files are refused",
  );
}
