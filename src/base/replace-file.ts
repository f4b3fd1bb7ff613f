import { chmod, chown, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, messageOf } from "./fault.ts";
import { Folder } from "./folder.ts";
import { clearLeftoversIn, temporaryName } from "./leftovers.ts";

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

/** `replaceIn` is `replaceFile` for a name in a folder that is held open. */
export async function replaceIn(
  folder: Folder,
  name: string,
  text: string,
  ownership: Ownership,
): Promise<void> {
  const beside = folder.at(temporaryName(name));
  try {
    await writeWhole(beside, text, ownership);
    await rename(beside, folder.at(name));
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
