import { randomBytes } from "node:crypto";
import { lstat, readdir, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock } from "./clock.ts";
import { codeOf } from "./fault.ts";
import { Folder } from "./folder.ts";

/**
 * The prefix of temporary files, chosen so that no file of an operator, such as a dated copy of the configuration, looks like one.
 */
const prefix = ".node-server-";
const ending = ".tmp";
/** The age from which a temporary file is a leftover: no write takes that long. */
const minAgeMs = 10_000;

/** `temporaryName` is a new name under which the next content of the file `name` is written before it is renamed. */
export function temporaryName(name: string): string {
  return `${prefix}${randomBytes(8).toString("hex")}-${name}${ending}`;
}

/**
 * `clearLeftoversIn` removes the temporary files of `name` that a crash left in the folder: regular files of this user, at least
 * `minAgeMs` old. Resolves to the time in milliseconds until the youngest of the others is old enough, 0 if there is no other.
 */
export async function clearLeftoversIn(folder: Folder, name: string, nowMs = Date.now()): Promise<number> {
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

/** `isTemporaryName` tells whether `found` is a name that `temporaryName` made for the file `name`. */
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
