import { existsSync } from "node:fs";
import { chmod, chown, link, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../clock.ts";
import { codeOf, messageOf } from "../fault.ts";
import { Folder } from "./folder.ts";

/** Ownership is the mode of a new file, and its owner if that is not this process. */
export interface Ownership {
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * `replaceFile` replaces the content of `path` atomically: a reader, or the next start after a crash, sees the old file or the
 * whole new one. The error of a failure names `path`.
 */
export async function replaceFile(
  path: string,
  text: string,
  ownership: Ownership = { mode: 0o600 },
): Promise<void> {
  const folder = await Folder.open(dirname(path));
  try {
    await replaceIn(folder, basename(path), text, ownership);
  } finally {
    await folder.close();
  }
}

/**
 * `createFile` is `replaceFile` for a file that does not exist yet. Fails with EEXIST if another process created it meanwhile: of
 * several at once exactly one succeeds.
 */
export async function createFile(path: string, text: string, ownership: Ownership): Promise<void> {
  const folder = await Folder.open(dirname(path));
  try {
    await writeIn(folder, basename(path), { text, ownership, place: linkOrRename });
  } finally {
    await folder.close();
  }
}

/** Unlike rename, link never replaces a file. Some file systems, such as FAT, have no links; there the last process wins. */
async function linkOrRename(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(codeOf(error) ?? "")) throw error;
    await rename(from, to);
  }
}

/** `replaceIn` is `replaceFile` for a name in a folder that is held open. */
export async function replaceIn(
  folder: Folder,
  name: string,
  text: string,
  ownership: Ownership,
): Promise<void> {
  await writeIn(folder, name, { text, ownership, place: rename });
}

interface NewContent {
  readonly text: string;
  readonly ownership: Ownership;
  /** Gives the written file its name. */
  readonly place: (from: string, to: string) => Promise<void>;
}

async function writeIn(folder: Folder, name: string, { text, ownership, place }: NewContent): Promise<void> {
  const beside = folder.at(temporaryName(name));
  try {
    await writeWhole(beside, text, ownership);
    await place(beside, folder.at(name));
    await folder.sync();
  } catch (error) {
    throw named(error, join(folder.realPath, name));
  } finally {
    await rm(beside, { force: true });
  }
  // A process that was killed before its rename left its temporary file, and possibly a secret in it.
  await clearLeftoversIn(folder, name);
}

/** `named` puts the path that people know into a system error: its own message names the open folder and a temporary file. */
function named(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  const why = messageOf(error)
    .replace(/^\w+: /, "")
    .replace(/, \w+ '.*$/, "");
  return Object.assign(new Error(`${path} cannot be written: ${why} (${code})`, { cause: error }), {
    code,
    path,
  });
}

/** `writeWhole` creates a file and syncs it. Fails if the file exists. */
export async function writeWhole(path: string, text: string, { mode, uid, gid }: Ownership): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    const made = await file.stat();
    if (uid !== undefined && gid !== undefined && (made.uid !== uid || made.gid !== gid))
      await chown(path, uid, gid);
    await chmod(path, mode & 0o777);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * The prefix of temporary files, chosen so that no file of an operator, such as a dated copy of the configuration, looks like one.
 */
const prefix = ".node-server-";
const ending = ".tmp";
/** The age from which a temporary file is a leftover: no write takes that long. */
const minAgeMs = 10_000;

/** `temporaryName` returns a new name under which the next content of the file `name` is written before it is renamed. */
export function temporaryName(name: string): string {
  return `${prefix}${crypto.getRandomValues(new Uint8Array(8)).toHex()}-${name}${ending}`;
}

/**
 * `clearLeftoversIn` removes the temporary files of `name` that a crash left in the folder: regular files of this user, at least
 * `minAgeMs` old. Resolves to the time in milliseconds until the youngest of the others is old enough, 0 if there is no other.
 */
async function clearLeftoversIn(folder: Folder, name: string, nowMs = Date.now()): Promise<number> {
  let waitMs = 0;
  const names = await readdir(folder.at("."));
  for (const found of names.filter((found) => isTemporaryName(found, name))) {
    const path = folder.at(found);
    try {
      const stats = await lstat(path);
      if (!stats.isFile() || stats.uid !== (process.geteuid?.() ?? stats.uid)) continue;
      // A file from the future was written before the clock was set back.
      const ageMs = Math.abs(nowMs - stats.mtimeMs);
      if (ageMs < minAgeMs) waitMs = Math.max(waitMs, minAgeMs - ageMs);
      else await rm(path, { force: true });
    } catch (error) {
      // A file that cannot be removed now is tried again at the next call.
      if (codeOf(error) === undefined) throw error;
    }
  }
  return waitMs;
}

/** `isTemporaryName` returns whether `found` is a name that `temporaryName` made for the file `name`. */
export function isTemporaryName(found: string, name: string): boolean {
  const tail = `-${name}${ending}`;
  return (
    found.startsWith(prefix) &&
    found.endsWith(tail) &&
    /^[0-9a-f]{16}$/.test(found.slice(prefix.length, -tail.length))
  );
}

/**
 * `clearLeftoversOf` clears the leftovers of the files at `paths` when the server starts: old ones now, those of a recent crash
 * once they are old enough. Disposing the result cancels the second pass.
 */
export async function clearLeftoversOf(paths: readonly string[], clock: Clock): Promise<Disposable> {
  const timers = new DisposableStack();
  for (const path of paths) {
    const waitMs = await clearBeside(path, clock);
    if (waitMs > 0) timers.use(clock.after(waitMs + 1000, () => clearBeside(path, clock)));
  }
  return timers;
}

async function clearBeside(path: string, clock: Clock): Promise<number> {
  try {
    const folder = await Folder.open(dirname(path));
    return await clearLeftoversIn(folder, basename(path), clock.now()).finally(() => folder.close());
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return 0;
  }
}

/**
 * `backupPath` returns a free name beside `path` for what a restore replaces: `<path>.before-restore-<time>`. `endings` are those
 * of files that are kept with it, and must be free as well.
 */
export function backupPath(path: string, endings: readonly string[] = []): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const first = `${path}.before-restore-${time}`;
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? first : `${first}-${number}`;
    if (!["", ...endings].some((ending) => existsSync(candidate + ending))) return candidate;
  }
}
