import { lstatSync, mkdirSync, rmdirSync, unlinkSync } from "node:fs";
import { open, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import { randomText } from "../../base/numbers.ts";
import { FileError } from "../../client/index.ts";
import { type CopyTools, isContentLost } from "./engine.ts";
import {
  type FileStamp,
  hashIfReadable,
  type LocalFile,
  localRefusal,
  sameStamp,
  stampOf,
} from "./local-tree.ts";
import type { OmissionCause } from "./omitted-file.ts";
import { contentOf, type FileSource } from "./remote-tree.ts";
import { isExcluded, newPartName } from "./skip-rules.ts";

/** Fetching is what the downloads of one run share. */
type Fetching = CopyTools & { readonly files: FileSource };

/** Download is one file to fetch and the folder it belongs to. */
export interface Download {
  readonly path: string;
  /** The path in the folder, if it is another one than in the bucket. */
  readonly as?: string;
  readonly size: number;
  readonly mtime: number;
  /** The folder of the pull, with links resolved. */
  readonly dir: string;
}

/** DownloadResult is the file that was fetched, or why it was not, as far as that concerns this file alone. */
export type DownloadResult =
  | { readonly stamp: FileStamp; readonly hash: string; readonly readAt: number; readonly changed: boolean }
  | OmissionCause;

/** NotFetched ends the fetching of one file. */
class NotFetched extends Error {
  override readonly name = "NotFetched";

  constructor(readonly refusal: OmissionCause) {
    super(refusal.why);
  }
}

/** Says why a name from the server is not written; undefined when it is harmless. A server may be hostile. */
export function whyUnwritable(path: string): OmissionCause | undefined {
  const refused = (why: string): OmissionCause => ({ reason: "name_not_accepted", why });
  const names = path.split("/");
  if (names.some((name) => name === "" || name === "." || name === ".."))
    return refused("the name points outside the folder");
  if (/[\\\0]/.test(path) || /^[A-Za-z]:/.test(path)) return refused("the name cannot be written safely");
  return isExcluded(path) ? { reason: "skipped", why: "files of this name are not pulled" } : undefined;
}

/** Fetches one file beside its target and renames it. A file with the same content is left as it is. */
export async function fetchFile(
  download: Download,
  transfer: Fetching,
  signal: AbortSignal,
): Promise<DownloadResult> {
  const { path, as = path, size, mtime, dir } = download;
  let part: string | undefined;
  try {
    const folder = makeParents(dir, as);
    const disk = join(folder, as.slice(as.lastIndexOf("/") + 1));
    part = join(folder, newPartName(randomText(8)));
    const beside = part;
    const readAt = Date.now();
    const hash = await transfer.retry.attempt(signal, () => fetchPart(download, beside, transfer, signal));
    const present = lstatSync(disk, { throwIfNoEntry: false });
    if (present?.isDirectory()) return { reason: "is_folder", why: "there is a folder with this name" };
    const same = present?.isFile() === true && present.size === size && (await hashIfReadable(disk)) === hash;
    if (!same) {
      await utimes(beside, mtime / 1000, mtime / 1000);
      await rename(beside, disk);
    }
    return { stamp: stampOf(await stat(disk)), hash, readAt, changed: !same };
  } catch (error) {
    if (error instanceof NotFetched) return error.refusal;
    if (error instanceof Fault) return { reason: error.data.reason ?? "refused", why: error.detail };
    if (error instanceof FileError && error.status === 404)
      return { reason: "gone", why: "it is gone from the server" };
    if (isContentLost(error)) return { reason: "blob_missing", why: "the server has lost its content" };
    const refusal = localRefusal(error);
    if (refusal === undefined) throw error;
    return refusal;
  } finally {
    if (part !== undefined) await rm(part, { force: true });
  }
}

/** Writes the file to `part` and returns its hash. */
async function fetchPart(
  { path, size }: Download,
  part: string,
  { files, meter }: Fetching,
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
  throw new NotFetched({ reason: "changed", why: "it was changed on the server meanwhile; try again" });
}

/** Makes the folder of a file step by step, so that no link on the way leads elsewhere. */
function makeParents(dir: string, path: string): string {
  let folder = dir;
  for (const name of path.split("/").slice(0, -1)) {
    folder = join(folder, name);
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    if (stats?.isDirectory()) continue;
    if (stats !== undefined)
      throw new NotFetched(
        stats.isSymbolicLink()
          ? { reason: "is_link", why: "a folder of its path is a link" }
          : { reason: "is_file", why: "a folder of its path is a file" },
      );
    try {
      mkdirSync(folder);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
  return folder;
}

/** Removes a file that the bucket does not hold, and the folders it leaves empty. Returns why it was kept; undefined when it is gone. */
export function removeLocal(dir: string, { path, stamp }: LocalFile): OmissionCause | undefined {
  const names = path.split("/");
  for (let depth = 1; depth < names.length; depth += 1)
    if (!lstatSync(join(dir, ...names.slice(0, depth)), { throwIfNoEntry: false })?.isDirectory())
      return { reason: "is_link", why: "a link points to it" };
  const disk = join(dir, ...names);
  const stats = lstatSync(disk, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) return { reason: "is_link", why: "it is a link" };
  if (!sameStamp(stampOf(stats), stamp)) return { reason: "changed", why: "it was changed just now" };
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
