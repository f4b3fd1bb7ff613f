import { existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { codeOf } from "../../base/fault.ts";
import { type FileCalls, fileCallsFor, syncFileCalls } from "../../base/local-fs/file-calls.ts";
import { statOrUndefined } from "../disk/stat.ts";
import { RecentReads } from "../local-content.ts";
import type { HeldContent } from "../ports.ts";
import { BlobMissingFault } from "./blob-faults.ts";
import type { StoredBlob } from "./blob-store.ts";
import type { BlobContent, ContentSource } from "./content-source.ts";
import { toFolderFault } from "./folder-faults.ts";
import type { FolderPaths } from "./folder-paths.ts";
import { holdLocalBlob, openLocalBlob } from "./local-blob.ts";

/** FolderContent sends the files of a FolderBlobs as they are: a cache of them would be a second copy. */
export class FolderContent implements ContentSource {
  readonly #paths: FolderPaths;
  readonly #calls: FileCalls;
  readonly #recentReads = new RecentReads();
  /** A synchronous call to a network file system that does not answer would stop this process. */
  readonly #isLocal: boolean;

  constructor(paths: FolderPaths) {
    this.#paths = paths;
    this.#calls = fileCallsFor(paths.root);
    this.#isLocal = this.#calls === syncFileCalls;
  }

  has(key: string): boolean {
    return this.#isLocal && existsSync(this.#paths.ofBlob(key));
  }

  hold(blob: StoredBlob): HeldContent | undefined {
    return this.#isLocal ? holdLocalBlob(blob, this.#paths.ofBlob(blob.key)) : undefined;
  }

  async open(blob: StoredBlob): Promise<BlobContent> {
    try {
      return await openLocalBlob(blob, {
        path: this.#paths.ofBlob(blob.key),
        calls: this.#calls,
        recentReads: this.#recentReads,
        verifies: true,
      });
    } catch (error) {
      throw await toReadFault(error, blob.key, this.#paths);
    }
  }
}

/** toReadFault tells a blob that is missing from a folder that is: without the folder of all blobs it is not this one that is lost. */
export async function toReadFault(error: unknown, key: string, { blobs }: FolderPaths): Promise<unknown> {
  if (codeOf(error) !== "ENOENT") return toFolderFault(error);
  try {
    return (await statOrUndefined(blobs, lstat)) === undefined
      ? toFolderFault(error)
      : new BlobMissingFault(key, { cause: error });
  } catch (other) {
    return toFolderFault(other);
  }
}
