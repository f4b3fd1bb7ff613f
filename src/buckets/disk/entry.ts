import { join } from "node:path";
import type { FileState } from "../../base/file-state.ts";
import type { FileEntry, FileSnapshot, FileStats } from "../file-reader.ts";
import type { TreePath } from "../path.ts";
import { etagOf, settledAtMs } from "./etag.ts";
import { DiskSnapshot } from "./snapshot.ts";

/** DiskStats presents the state of a file as `FileStats`; the entity tag is computed when it is first read. */
export class DiskStats implements FileStats {
  readonly state: FileState;
  #etag: string | undefined;

  constructor(state: FileState) {
    this.state = state;
  }

  get size(): number {
    return this.state.size;
  }

  get modifiedMs(): number {
    return this.state.mtimeMs;
  }

  get accessedMs(): number {
    return this.state.atimeMs;
  }

  /** Not every file system stores it; then the time of the inode's last change is the oldest that is known. */
  get createdMs(): number {
    return this.state.birthtimeMs > 0 ? this.state.birthtimeMs : this.state.ctimeMs;
  }

  get etag(): string {
    this.#etag ??= etagOf(this.state);
    return this.#etag;
  }

  get settledAtMs(): number {
    return settledAtMs(this.state);
  }
}

/** DiskEntry is a file or folder below the bucket's folder `root`. */
export class DiskEntry implements FileEntry {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: DiskStats;
  readonly #root: string;

  private constructor(root: string, path: TreePath, stats: FileState) {
    this.#root = root;
    this.path = path;
    this.kind = stats.isDirectory() ? "folder" : "file";
    this.stats = new DiskStats(stats);
  }

  /** from is undefined for what is neither a regular file nor a folder. */
  static from(root: string, path: TreePath, stats: FileState | undefined): DiskEntry | undefined {
    return stats?.isFile() || stats?.isDirectory() ? new DiskEntry(root, path, stats) : undefined;
  }

  snapshot(): FileSnapshot {
    return new DiskSnapshot({ diskPath: join(this.#root, this.path), stats: this.stats.state });
  }
}
