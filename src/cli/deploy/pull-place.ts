import { lstatSync, mkdirSync, rmdirSync, unlinkSync } from "node:fs";
import { open, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { randomText } from "../../base/random.ts";
import { type BucketFiles, FileError } from "../../client/index.ts";
import { explainFileError } from "../file-error.ts";
import {
  concernsOneFile,
  hashIfReadable,
  isExcluded,
  type LocalFile,
  type Look,
  newPartName,
  sameLook,
  toLook,
} from "./local-tree.ts";
import type { Meter } from "./meter.ts";
import { contentOf } from "./remote-tree.ts";
import type { Patience } from "./upload-queue.ts";

interface Place {
  readonly path: string;
  readonly size: number;
  readonly mtime: number;
  /** Every link resolved. */
  readonly dir: string;
}

export type Fetched =
  | { readonly look: Look; readonly hash: string; readonly readAt: number; readonly changed: boolean }
  | { readonly why: string };

/** Names come from a server that need not mean well; undefined when one is harmless. */
export function whyUnwritable(path: string): string | undefined {
  const names = path.split("/");
  if (names.some((name) => name === "" || name === "." || name === ".."))
    return "the name leads out of the folder";
  if (/[\\\0]/.test(path) || /^[A-Za-z]:/.test(path)) return "the name cannot be written safely";
  return isExcluded(path) ? "files of this name are not pulled" : undefined;
}

/** Fetches one file beside its place and renames it there; one that is the same already is left as it is. */
export async function fetchFile(
  files: BucketFiles,
  place: Place,
  meter: Meter,
  patience: Patience,
  signal: AbortSignal,
): Promise<Fetched> {
  const { path, size, mtime, dir } = place;
  let part: string | undefined;
  try {
    const folder = makeWay(dir, path);
    const disk = join(folder, path.slice(path.lastIndexOf("/") + 1));
    part = join(folder, newPartName(randomText(8)));
    const beside = part;
    const readAt = Date.now();
    const hash = await patience.attempt(signal, () => download(files, path, beside, size, meter, signal));
    const present = lstatSync(disk, { throwIfNoEntry: false });
    if (present?.isDirectory()) return { why: "a folder stands there" };
    const same = present?.isFile() === true && present.size === size && (await hashIfReadable(disk)) === hash;
    if (!same) {
      await utimes(beside, mtime / 1000, mtime / 1000);
      await rename(beside, disk);
    }
    return { look: toLook(await stat(disk)), hash, readAt, changed: !same };
  } catch (error) {
    if (error instanceof Fault) return { why: error.detail };
    if (error instanceof FileError && error.status === 404) return { why: "it is gone from the server" };
    if (concernsOneFile(error)) return { why: explainFileError(error) ?? messageOf(error) };
    throw error;
  } finally {
    if (part !== undefined) await rm(part, { force: true });
  }
}

async function download(
  files: BucketFiles,
  path: string,
  part: string,
  size: number,
  meter: Meter,
  signal: AbortSignal,
): Promise<string> {
  const file = await open(part, "w");
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  try {
    for await (const chunk of contentOf(files, path, signal)) {
      await file.writeFile(chunk);
      hasher.update(chunk);
      bytes += chunk.length;
      meter.add(chunk.length);
    }
    await file.sync();
  } catch (error) {
    meter.add(-bytes);
    throw error;
  } finally {
    await file.close();
  }
  if (bytes === size) return hasher.digest("hex");
  meter.add(-bytes);
  throw new Fault("Other", "it was changed on the server meanwhile; pull again");
}

/** The folder of a file, made step by step, so that no link on the way leads elsewhere. */
function makeWay(dir: string, path: string): string {
  let folder = dir;
  for (const name of path.split("/").slice(0, -1)) {
    folder = join(folder, name);
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    if (stats?.isDirectory()) continue;
    if (stats !== undefined)
      throw new Fault(
        "InvalidInput",
        stats.isSymbolicLink() ? "a link stands on the way" : "a file stands on the way",
      );
    try {
      mkdirSync(folder);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
  return folder;
}

/** Removes a file that is gone from the server, and the folders it leaves empty; in words why not. */
export function removeLocal(dir: string, { path, look }: LocalFile): string | undefined {
  const names = path.split("/");
  for (let depth = 1; depth < names.length; depth += 1)
    if (!lstatSync(join(dir, ...names.slice(0, depth)), { throwIfNoEntry: false })?.isDirectory())
      return "a link leads to it";
  const disk = join(dir, ...names);
  const stats = lstatSync(disk, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) return "it is a link";
  if (!sameLook(toLook(stats), look)) return "it was changed just now";
  unlinkSync(disk);
  for (let depth = names.length - 1; depth > 0; depth -= 1) {
    try {
      rmdirSync(join(dir, ...names.slice(0, depth)));
    } catch {
      // It holds something else.
      break;
    }
  }
  return undefined;
}
