import { constants } from "node:fs";
import { type FileHandle, open, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { parse, type TomlTable } from "smol-toml";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { readRegularFile } from "../base/local-fs/access.ts";
import { Folder, isInside } from "../base/local-fs/folder.ts";
import { replaceIn, writeWhole } from "../base/local-fs/replace-file.ts";
import { noOverrides, type Overrides } from "./environment.ts";
import { KeyIndex } from "./locate.ts";
import { checkText, parseConfig } from "./parse.ts";
import type { Warning } from "./problem.ts";
import { describeKeys, type KeyDescription } from "./schema.ts";

/** Flags that refuse a link, which could lead elsewhere, and do not block on a FIFO. */
const safeOpenFlags = constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Errors of rename on a single file that is mounted into a container. */
const renameErrors = new Set(["EBUSY", "EXDEV"]);

/** ConfigFile is the configuration as callers may read and rewrite it: only a regular file inside the working directory. */
export class ConfigFile {
  #queue: Promise<unknown> = Promise.resolve();
  readonly #name: string;

  readonly #path: string;
  readonly #workingDirectory: string;

  readonly #overrides: Overrides;

  /** `overrides` give what a text may lack. */
  constructor(path: string, workingDirectory: string, overrides = noOverrides) {
    this.#path = path;
    this.#overrides = overrides;
    this.#workingDirectory = workingDirectory;
    this.#name = basename(path);
  }

  /** Returns the raw text, as it is on the disk. */
  read(): Promise<string> {
    return this.#open(constants.O_RDONLY, (file) => file.readFile("utf8"));
  }

  /** The keys that the file may have. */
  get keys(): readonly KeyDescription[] {
    return describeKeys();
  }

  /** Returns the warnings about a valid text. Throws ParseError, with every problem and its position, if the text is invalid. */
  check(text: string): readonly Warning[] {
    return checkText(text, { file: this.#name, path: resolve(this.#path) }, this.#overrides);
  }

  /**
   * Checks the text and replaces the file by it, atomically except where a rename is impossible (see `overwrite`). Keeps mode and
   * owner. Concurrent writes run one after the other.
   */
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
      if (!renameErrors.has(codeOf(error) ?? "")) throw toFault(error);
      await this.#open(constants.O_RDWR, (file, folder) => overwrite(file, folder, this.#name, text));
    }
  }

  /**
   * Opens the folder, then the file in it, and checks on the open handles that it is a regular file inside the working directory.
   */
  async #open<T>(access: number, use: (file: FileHandle, folder: Folder) => Promise<T>): Promise<T> {
    let folder: Folder | undefined;
    let file: FileHandle | undefined;
    try {
      folder = await Folder.open(dirname(this.#path));
      const inside = await realpath(this.#workingDirectory);
      if (!isInside(folder.realPath, inside)) {
        throw new Fault(
          "InvalidInput",
          "the configuration file is outside the working directory; edit it on the machine itself",
        );
      }
      file = await open(folder.at(this.#name), access | safeOpenFlags);
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

/**
 * `overwrite` writes in place. A complete copy of the new text exists beside the file until the write is synced; see
 * `finishOverwrite`.
 */
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

/** The longest time that a rewrite may take. */
const maxRewriteMs = 60_000;

/** `finishOverwrite` completes a rewrite in place that a crash interrupted. Returns true if there was one. */
export async function finishOverwrite(path: string, overrides = noOverrides): Promise<boolean> {
  const copy = recoveryName(path);
  const text = await readRecovery(path, copy, overrides);
  if (text === undefined) return false;
  const file = await open(path, constants.O_RDWR | safeOpenFlags);
  try {
    await fill(file, text);
  } finally {
    await file.close();
  }
  await rm(copy, { force: true });
  return true;
}

/**
 * `readRecovery` returns the text of an interrupted rewrite; undefined if there is none. It removes a copy that must not be used.
 */
async function readRecovery(path: string, copy: string, overrides: Overrides): Promise<string | undefined> {
  try {
    const text = await readRegularFile(copy);
    const isOlder = (await stat(path)).mtimeMs > (await stat(copy)).mtimeMs + maxRewriteMs;
    // If the copy itself is incomplete, the configuration was not touched yet.
    if (!isOlder && isValid(text, path, overrides)) return text;
    await rm(copy, { force: true });
    return undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw toFault(error);
  }
}

function isValid(text: string, path: string, overrides: Overrides): boolean {
  try {
    parseConfig(text, path, overrides);
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
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

/** A TOML string on one line: basic or literal. */
const stringForm = /^(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*')/;

/**
 * `replaceUrl` returns the text of a configuration in which a key of a table has another URL, or, without one, is missing.
 * Comments and everything else stay.
 */
export function replaceUrl(
  text: string,
  [table, key]: readonly [table: string, key: string],
  url: string | undefined,
): string {
  const replaced = edited(text, [table, key], url);
  const [was, is] = [parse(text), replaced === undefined ? undefined : parse(replaced)];
  const { [key]: _, ...others } = (was[table] ?? {}) as TomlTable;
  const expected = { ...was, [table]: url === undefined ? others : { ...others, [key]: url } };
  if (replaced === undefined || !Bun.deepEquals(is, expected)) throw cannotReplace(key);
  return replaced;
}

/** The text with the change; undefined where the value is not a string on one line. */
function edited(text: string, [table, key]: readonly [string, string], url: string | undefined) {
  const { value } = new KeyIndex(text).locate([table, key]);
  const lines = text.split("\n");
  if (value === undefined)
    return url === undefined ? text : withNewKey(lines, table, `${key} = ${JSON.stringify(url)}`);
  const line = lines[value.line - 1] ?? "";
  const [before, after] = [line.slice(0, value.column - 1), line.slice(value.column - 1)];
  const [old] = stringForm.exec(after) ?? [];
  if (old === undefined || old === '""' || old === "''") return undefined;
  if (url === undefined) lines.splice(value.line - 1, 1);
  else lines[value.line - 1] = `${before}${JSON.stringify(url)}${after.slice(old.length)}`;
  return lines.join("\n");
}

/** Puts a line below the header of its table, or both at the end. */
function withNewKey(lines: readonly string[], table: string, line: string): string {
  const header = lines.findIndex((other) => other.replace(/#.*/, "").trim() === `[${table}]`);
  if (header !== -1) return lines.toSpliced(header + 1, 0, line).join("\n");
  return `${lines.join("\n").trimEnd()}\n\n[${table}]\n${line}\n`;
}

function cannotReplace(key: string): Fault {
  return new Fault(
    "Other",
    `${key} could not be replaced in the configuration; edit it by hand. The copied data stays`,
  );
}
