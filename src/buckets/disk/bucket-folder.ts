import { lstat, mkdir, readdir, realpath } from "node:fs/promises";
import { codeOf, Fault } from "../../base/fault.ts";
import { Folder, isInside } from "../../base/local-fs/folder.ts";
import { openOrCreate } from "./resolve.ts";

export interface FolderClaim {
  readonly staticPath: string;
  /** The bucket's path below `staticPath`, its form checked. */
  readonly path: string;
  /** Whether a folder that is not empty may be taken: its files are served to everybody from then on. */
  readonly mayTakeOver: boolean;
}

/**
 * claimFolder creates the folder of a bucket, or takes the one that exists. Each segment is opened in the one before it and must
 * not be a symbolic link, so the bucket lies where its path says: below `static_path`, and outside the folders of other buckets.
 */
export async function claimFolder({ staticPath, path, mayTakeOver }: FolderClaim): Promise<void> {
  try {
    await mkdir(staticPath, { recursive: true });
    const root = await realpath(staticPath);
    let folder = await Folder.open(root);
    try {
      for (const segment of path.split("/")) {
        const next = await openOrCreate(folder, segment);
        const isLink = (await lstat(folder.at(segment))).isSymbolicLink();
        await folder.close();
        folder = next;
        if (isLink || !isInside(folder.realPath, root)) throw leadsThroughLink();
      }
      if (!mayTakeOver && (await readdir(folder.at("."))).length > 0) throw holdsFiles();
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw error instanceof Fault ? error : cannotBeMade(error);
  }
}

/** restoreFolder creates the folder of an existing bucket again if it is missing from the disk. */
export async function restoreFolder(diskPath: string): Promise<void> {
  try {
    await mkdir(diskPath, { recursive: true });
  } catch (error) {
    throw cannotBeMade(error);
  }
}

function leadsThroughLink(): Fault {
  return new Fault(
    "InvalidInput",
    "path leads through a symbolic link; the folder of a bucket and those above it must be real folders below static_path",
    { field: "path" },
  );
}

function holdsFiles(): Fault {
  return new Fault(
    "InvalidInput",
    "the folder at this path holds files already, which the bucket would serve to everybody; choose another path, or have the Super Token do this",
    { field: "path", reason: "path_taken" },
  );
}

function cannotBeMade(error: unknown): Fault {
  return new Fault(
    "IoError",
    `the bucket's folder cannot be made (${codeOf(error) ?? "unknown"}); check static_path`,
    { field: "path" },
  );
}
