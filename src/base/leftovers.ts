import { randomBytes } from "node:crypto";
import { lstat, readdir, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { codeOf } from "./fault.ts";
import { Folder } from "./folder.ts";

/** Temporary files are named so that no file of an operator, such as a dated copy of the configuration, is taken for one. */
const prefix = ".node-server-";
const ending = ".tmp";
/** Writing a file beside its place takes no longer than this, so an older one belongs to nobody any more. */
const minAgeMs = 10_000;

/** The name under which the next content of the file `name` is written, before it is renamed. */
export function temporaryName(name: string): string {
  return `${prefix}${randomBytes(8).toString("hex")}-${name}${ending}`;
}

/**
 * Removes the temporary files of `name` that a crash left in the folder: regular files of this user, no younger than
 * `minAgeMs`. Resolves to the time until the youngest of the others is old enough, 0 if there is none.
 */
export async function clearLeftoversIn(folder: Folder, name: string): Promise<number> {
  let waitMs = 0;
  const names = await readdir(folder.at("."));
  for (const found of names.filter((found) => isTemporaryName(found, name))) {
    const path = folder.at(found);
    try {
      const stats = await lstat(path);
      if (!stats.isFile() || stats.uid !== (process.geteuid?.() ?? stats.uid)) continue;
      // One that is newer than now is from before the clock was set back.
      const ageMs = Math.abs(Date.now() - stats.mtimeMs);
      if (ageMs < minAgeMs) waitMs = Math.max(waitMs, minAgeMs - ageMs);
      else await rm(path, { force: true });
    } catch (error) {
      // What the disk does not let go stays for the next time.
      if (codeOf(error) === undefined) throw error;
    }
  }
  return waitMs;
}

/** Whether `found` is a name that `temporaryName` made for the file `name`. */
export function isTemporaryName(found: string, name: string): boolean {
  const tail = `-${name}${ending}`;
  return (
    found.startsWith(prefix) &&
    found.endsWith(tail) &&
    /^[0-9a-f]{16}$/.test(found.slice(prefix.length, -tail.length))
  );
}

/**
 * Clears the leftovers of the files at `paths`, for a start: now, and those of a crash a moment ago once they are old enough.
 * Disposing it calls the second time off.
 */
export async function clearLeftoversOf(paths: readonly string[]): Promise<Disposable> {
  const timers: NodeJS.Timeout[] = [];
  for (const path of paths) {
    const waitMs = await clearBeside(path);
    if (waitMs > 0) timers.push(setTimeout(() => void clearBeside(path), waitMs + 1000).unref());
  }
  return { [Symbol.dispose]: () => timers.forEach(clearTimeout) };
}

async function clearBeside(path: string): Promise<number> {
  try {
    const folder = await Folder.open(dirname(path));
    return await clearLeftoversIn(folder, basename(path)).finally(() => folder.close());
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return 0;
  }
}
