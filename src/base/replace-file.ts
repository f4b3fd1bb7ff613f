import { chmod, chown, link, open, rename, rm } from "node:fs/promises";
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
