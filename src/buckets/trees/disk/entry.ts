import { join } from "node:path";
import type { FileState } from "../../../base/local-fs/local-calls.ts";
import type { TreePath } from "../../path.ts";
import { etagOfContent, type FileEntry, type FileSnapshot, type FileStats } from "../../ports.ts";
import { DiskSnapshot } from "./snapshot.ts";
import { etagOf, settledAtMs } from "./stat.ts";
import { storedHash } from "./stored-hash.ts";

/** HashSource reads the SHA-256 that is stored with a file, and counts for a file in this state. */
interface HashSource {
  storedHash(state: FileState): string | undefined;
}

/** DiskStats presents the state of a file as `FileStats`; the entity tag is computed when it is first read. */
export class DiskStats implements FileStats {
  readonly state: FileState;
  readonly #hashes: HashSource | undefined;
  #etag: string | undefined;

  /** `hashes` is undefined for what has no stored hash. */
  constructor(state: FileState, hashes?: HashSource) {
    this.state = state;
    this.#hashes = hashes;
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
    if (this.#etag === undefined) {
      const sha256 = this.#hashes?.storedHash(this.state);
      this.#etag = sha256 === undefined ? etagOf(this.state) : etagOfContent(sha256);
    }
    return this.#etag;
  }

  get settledAtMs(): number {
    return settledAtMs(this.state);
  }
}

/** EntryRoot is the bucket's folder `root`, and whether it is on a local disk. */
interface EntryRoot {
  readonly root: string;
  readonly isLocal: boolean;
}

/** DiskEntry is a file or folder below the bucket's folder `root`. */
export class DiskEntry implements FileEntry, HashSource {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: DiskStats;
  readonly #root: EntryRoot;

  private constructor(root: EntryRoot, path: TreePath, stats: FileState) {
    this.#root = root;
    this.path = path;
    this.kind = stats.isDirectory() ? "folder" : "file";
    this.stats = new DiskStats(stats, root.isLocal && this.kind === "file" ? this : undefined);
  }

  /** from is undefined for what is neither a regular file nor a folder. */
  static from(root: EntryRoot, path: TreePath, stats: FileState | undefined): DiskEntry | undefined {
    return stats?.isFile() || stats?.isDirectory() ? new DiskEntry(root, path, stats) : undefined;
  }

  storedHash(state: FileState): string | undefined {
    return storedHash(this.#diskPath, state);
  }

  snapshot(): FileSnapshot {
    return new DiskSnapshot({ diskPath: this.#diskPath, stats: this.stats.state });
  }

  get #diskPath(): string {
    return join(this.#root.root, this.path);
  }
}
