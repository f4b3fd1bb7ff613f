import { rm } from "node:fs/promises";
import { syncFiles } from "../../../base/local-fs/file-calls.ts";
import { sameContent } from "../../../base/local-fs/stat.ts";
import { sha256Of } from "../../../blobs/content.ts";
import { splitPath, type TreePath } from "../../path.ts";
import type { ReuseOptions, WantedFile } from "../../ports.ts";
import { copyOpenFile } from "../../trees/disk/copy.ts";
import { toTreeFault } from "../../trees/disk/disk-faults.ts";
import type { DiskFile, DiskReader } from "../../trees/disk/read.ts";
import type { PathResolver } from "../../trees/disk/resolve.ts";
import { DiskStagedFile, type Staging } from "../../trees/disk/staging.ts";
import { storeHash } from "../../trees/disk/stored-hash.ts";

/** Files of a folder that are compared and copied at a time. */
const maxRunning = 8;

export interface ReuseFilesOptions extends Pick<ReuseOptions, "signal" | "sourcesOf"> {
  readonly source: DiskReader;
  readonly target: DiskReader;
  readonly paths: PathResolver;
  readonly staging: Staging;
  /** Whether the copies are on the disk at the end, and not only in its cache. */
  readonly sync: boolean;
  /** Runs work while nobody else changes a folder of the target. */
  inTurn<T>(folder: TreePath, work: () => Promise<T>): Promise<T>;
}

/**
 * `reuseFiles` copies files into a folder tree whose content another one has at one of their sources, by shared blocks where the
 * file system can (`FICLONE`). Returns the others. Content is read to compare it: nothing else on a disk tells what a file contains.
 */
export async function reuseFiles(
  files: readonly WantedFile[],
  options: ReuseFilesOptions,
): Promise<WantedFile[]> {
  const copied: string[] = [];
  const missing = await reuseEach(files, { ...options, onCopied: (path) => void copied.push(path) });
  if (options.sync) await syncFiles(options.paths.root, copied);
  return missing;
}

interface ReuseEachOptions extends ReuseFilesOptions {
  /** Called with the disk path of each copy. */
  readonly onCopied: (diskPath: string) => void;
}

async function reuseEach(files: readonly WantedFile[], options: ReuseEachOptions): Promise<WantedFile[]> {
  const missing = new Set<WantedFile>();
  for (const [folder, inside] of Map.groupBy(files, ({ path }) => splitPath(path).folder)) {
    options.signal.throwIfAborted();
    await options.inTurn(folder, async () => {
      const waiting = [...inside];
      let isChanged = false;
      const work = async () => {
        for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
          options.signal.throwIfAborted();
          const done = await reuseOne(file, options);
          if (done === "missing") missing.add(file);
          else isChanged ||= done === "copied";
        }
      };
      await Promise.all(Array.from({ length: Math.min(maxRunning, inside.length) }, work));
      if (isChanged && options.sync)
        await options.paths.inFolder(folder, { create: false }, (held) => held.sync());
    });
  }
  return files.filter((file) => missing.has(file));
}

async function reuseOne(
  wanted: WantedFile,
  options: ReuseEachOptions,
): Promise<"copied" | "present" | "missing"> {
  const { source, target } = options;
  const { path } = wanted;
  try {
    await using present = await openSame(target, path, wanted);
    if (present !== undefined) {
      if (options.paths.local) storeHash(present.handle.fd, wanted.sha256, present.stats.state);
      return "present";
    }
    for (const from of options.sourcesOf(wanted)) {
      await using found = await openSame(source, from, wanted);
      if (found !== undefined && (await copyInto(found, wanted, options))) return "copied";
    }
    return "missing";
  } catch (error) {
    throw toTreeFault(error, path);
  }
}

/** Opens the file at a path if it has the wanted content. */
async function openSame(
  reader: DiskReader,
  path: TreePath,
  { size, sha256 }: WantedFile,
): Promise<DiskFile | undefined> {
  const found = await reader.find(path);
  if (found?.kind !== "file" || found.stats.size !== size) return undefined;
  const file = await reader.openOrFind(path);
  if (file === undefined || "kind" in file) return undefined;
  if (file.stats.size === size && (await sha256Of(file)) === sha256) return file;
  await file[Symbol.asyncDispose]();
  return undefined;
}

/** False if another program changed the file while it was read and copied. */
async function copyInto(
  file: DiskFile,
  { path, sha256 }: WantedFile,
  options: ReuseEachOptions,
): Promise<boolean> {
  const { paths, staging, signal, onCopied } = options;
  paths.assertFits(path);
  const { folder, name } = splitPath(path);
  const diskPath = await staging.allocate();
  try {
    // All copies are synced together at the end.
    await copyOpenFile(file, diskPath, { sync: false, signal });
    if (!sameContent(await file.handle.stat(), file.stats.state)) return false;
    const staged = new DiskStagedFile(diskPath, file.stats.size);
    const copy = await paths.calls.open(diskPath, "r");
    try {
      await paths.inFolder(folder, { create: true }, (parent) =>
        staging.moveInto(parent, name, { staged, sync: false, calls: paths.calls }),
      );
      // A move changes the state of a file.
      if (paths.local) storeHash(copy.fd, sha256, await copy.stat());
    } finally {
      await copy.close();
    }
    onCopied(paths.diskPath(path));
    return true;
  } finally {
    await rm(diskPath, { force: true });
  }
}
