import type { Stats } from "node:fs";
import { join } from "node:path";
import type { FileEntry, FileSnapshot, FileStats } from "../file-store.ts";
import type { TreePath } from "../path.ts";
import { etagOf, settledAtMs } from "./etag.ts";
import { DiskSnapshot } from "./snapshot.ts";

/** DiskStats presents Node's `Stats` as `FileStats`; the entity tag is computed when it is first read. */
export class DiskStats implements FileStats {
  readonly node: Stats;
  #etag: string | undefined;

  constructor(node: Stats) {
    this.node = node;
  }

  get size(): number {
    return this.node.size;
  }

  get modifiedMs(): number {
    return this.node.mtimeMs;
  }

  get accessedMs(): number {
    return this.node.atimeMs;
  }

  /** Not every file system stores it; then the time of the inode's last change is the oldest that is known. */
  get createdMs(): number {
    return this.node.birthtimeMs > 0 ? this.node.birthtimeMs : this.node.ctimeMs;
  }

  get etag(): string {
    this.#etag ??= etagOf(this.node);
    return this.#etag;
  }

  get settledAtMs(): number {
    return settledAtMs(this.node);
  }
}

/** DiskEntry is a file or folder below the bucket's folder `root`. */
export class DiskEntry implements FileEntry {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: DiskStats;
  readonly #root: string;

  private constructor(root: string, path: TreePath, stats: Stats) {
    this.#root = root;
    this.path = path;
    this.kind = stats.isDirectory() ? "folder" : "file";
    this.stats = new DiskStats(stats);
  }

  /** from is undefined for what is neither a regular file nor a folder. */
  static from(root: string, path: TreePath, stats: Stats | undefined): DiskEntry | undefined {
    return stats?.isFile() || stats?.isDirectory() ? new DiskEntry(root, path, stats) : undefined;
  }

  snapshot(): FileSnapshot {
    return new DiskSnapshot({ diskPath: join(this.#root, this.path), stats: this.stats.node });
  }
}
