import { join } from "node:path";
import { BlobMissingFault } from "./blob-faults.ts";
import { isBlobKey } from "./blob-key.ts";

/**
 * FolderPaths are the disk paths of a FolderBlobs: `blobs/<last two digits of the key>/<key>`, `manifests/<name>` and `unfinished/`. The
 * first digits of a key are its time; the last ones are random, so the folders stay equally large: 4,000 names in each for a million.
 */
export class FolderPaths {
  readonly root: string;
  readonly blobs: string;
  readonly manifests: string;
  /** Uploads grow here. It is on the same file system, so that they can be renamed. */
  readonly unfinished: string;

  constructor(root: string) {
    this.root = root;
    this.blobs = join(root, "blobs");
    this.manifests = join(root, "manifests");
    this.unfinished = join(root, "unfinished");
  }

  ofBlob(key: string): string {
    if (!isBlobKey(key)) throw new BlobMissingFault(key);
    return join(this.shard(shardOf(key)), key);
  }

  shard(name: string): string {
    return join(this.blobs, name);
  }

  ofManifest(name: string): string {
    if (name === "" || name.includes("/") || name.startsWith("."))
      throw new TypeError(`${name} is not a file name`);
    return join(this.manifests, name);
  }
}

/** shardOf is the name of the folder that a blob is in. */
export function shardOf(key: string): string {
  return key.slice(-2);
}
