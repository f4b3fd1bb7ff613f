import type { FileDescriptor } from "../../base/local-fs/file-calls.ts";
import { LocalContent, type RecentReads } from "../local-content.ts";
import type { TreePath } from "../path.ts";
import type { FileSnapshot, OpenFile } from "../ports.ts";
import { toTreeFault } from "./disk-faults.ts";
import type { DiskStats } from "./entry.ts";

/** HeldFile is what an open file is made of, once it is proven to be inside the bucket. */
export interface HeldFile {
  readonly path: TreePath;
  readonly handle: FileDescriptor;
  /** A disk path to exactly the open file, valid until the handle is closed. */
  readonly heldPath: string;
  readonly stats: DiskStats;
  readonly snapshot: () => Promise<FileSnapshot>;
  readonly recentReads: RecentReads;
}

/** DiskFile is an open file, with what only the code of this folder may use: `handle`, `heldPath`, `stats.state`. */
export class DiskFile extends LocalContent implements OpenFile {
  readonly stats: DiskStats;
  readonly snapshot: () => Promise<FileSnapshot>;

  constructor({ path, stats, snapshot, ...held }: HeldFile) {
    super({ ...held, size: stats.size, toFault: (error) => toTreeFault(error, path) });
    this.stats = stats;
    this.snapshot = snapshot;
  }

  get contentKey(): string {
    return `${this.stats.state.dev} ${this.stats.etag}`;
  }
}
