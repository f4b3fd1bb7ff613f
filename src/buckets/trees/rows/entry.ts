import type { ContentSource, HeldContent } from "../../../blobs/content.ts";
import type { BucketState } from "../../../db/rows/bucket-rows.ts";
import { type EntryRows, isFolderValue } from "../../../db/rows/entry-rows.ts";
import type { EntryValue } from "../../../db/rows/entry-values.ts";
import { isAscii, segmentsOf, type TreePath } from "../../path.ts";
import {
  etagOfContent,
  type FileEntry,
  type FileSnapshot,
  type FileStats,
  type FolderChecks,
} from "../../ports.ts";
import type { Head, Heads } from "./heads.ts";
import { blobOf } from "./locate.ts";

/** EntryStats presents a row as `FileStats`. Content never changes under an entity tag, so it is settled at once. */
export class EntryStats implements FileStats {
  readonly value: EntryValue;
  readonly settledAtMs = 0;

  constructor(value: EntryValue) {
    this.value = value;
  }

  get size(): number {
    return isFolderValue(this.value) ? 0 : this.value.size;
  }

  get modifiedMs(): number {
    return this.value.modified;
  }

  get accessedMs(): number {
    return this.value.accessed ?? this.value.modified;
  }

  get createdMs(): number {
    return this.value.created;
  }

  get sha256(): string | undefined {
    return isFolderValue(this.value) ? undefined : this.value.hash;
  }

  get record(): Uint8Array | undefined {
    if (isFolderValue(this.value) || this.value.record === undefined) return undefined;
    return Buffer.from(this.value.record, "base64");
  }

  get etag(): string {
    const { value } = this;
    return isFolderValue(value) ? `"${value.id}-${value.version.toString(36)}"` : etagOfContent(value.hash);
  }
}

/** ObjectEntry is a file or folder whose name is a row of the database. */
export class ObjectEntry implements FileEntry {
  readonly path: TreePath;
  readonly stats: EntryStats;
  /** The state of the bucket when the row was read. */
  readonly head: Head;
  readonly #rows: SnapshotRows;

  constructor(rows: SnapshotRows, { path, value, head }: EntryState) {
    this.#rows = rows;
    this.path = path;
    this.stats = new EntryStats(value);
    this.head = head;
  }

  get kind(): "file" | "folder" {
    return isFolderValue(this.stats.value) ? "folder" : "file";
  }

  snapshot(): FileSnapshot {
    return new EntrySnapshot(this.#rows, {
      path: this.path,
      value: this.stats.value,
      head: this.head,
    });
  }
}

interface EntryState {
  readonly path: TreePath;
  readonly value: EntryValue;
  readonly head: Head;
}

/** SnapshotRows is what the snapshots of one bucket are compared with. */
export interface SnapshotRows {
  /** The path of the bucket's record. */
  readonly bucketPath: string;
  readonly heads: Heads;
  readonly entries: EntryRows;
  readonly content: ContentSource;
}

interface State {
  readonly path: TreePath;
  /** Undefined when nothing exists there. */
  readonly value: EntryValue | undefined;
  /** The state of the bucket that it was read from; undefined if that is not known. */
  readonly head: Head | undefined;
}

/** EntrySnapshot is current while its bucket has the same version: an integer compare. */
export class EntrySnapshot implements FileSnapshot {
  readonly settledAtMs = 0;
  readonly #rows: SnapshotRows;
  readonly #path: TreePath;
  readonly #value: EntryValue | undefined;
  #head: Head | undefined;

  constructor(rows: SnapshotRows, { path, value, head }: State) {
    this.#rows = rows;
    this.#path = path;
    this.#value = value;
    this.#head = head;
  }

  /** The files that an answer was made from are mostly of one bucket and version, so that one comparison serves them all. */
  isCurrent(checks: FolderChecks, freshState?: BucketState): boolean {
    const { heads, bucketPath } = this.#rows;
    const head = this.#head;
    if (head === undefined) return false;
    if (freshState !== undefined)
      return freshState.head?.version === head.version && freshState.head.root === head.root;
    const key = `${head.version}/${bucketPath}`;
    let isSame = checks.get(key);
    if (isSame === undefined) {
      isSame = heads.isCurrent(bucketPath, head);
      checks.set(key, isSame);
    }
    return isSame || this.#isUnchangedSync();
  }

  hold(): HeldContent | undefined {
    if (this.#value === undefined || isFolderValue(this.#value)) return undefined;
    const blob = blobOf(this.#value);
    return blob && this.#rows.content.hold(blob);
  }

  /**
   * Something else in the bucket changed: one read by path tells whether this did; while the database is away, what is known of the
   * path. A name in another Unicode form may match by now.
   */
  #isUnchangedSync(): boolean {
    if (!isAscii(this.#path)) return false;
    const { heads, entries, bucketPath } = this.#rows;
    const names = segmentsOf(this.#path);
    if (names.length === 0) return false;
    const now = heads.freshness.readSync(() => entries.followSync(bucketPath, names));
    if (now !== undefined) {
      const value = now.entries.length === names.length ? now.entries.at(-1)?.value : undefined;
      return this.#isAs(value, now.head);
    }
    const known = heads.freshness.isAway
      ? heads.known.locate(bucketPath, this.#path, heads.last(bucketPath))
      : undefined;
    return known !== undefined && this.#isAs(known.chain[names.length], known.head);
  }

  #isAs(value: EntryValue | undefined, head: Head): boolean {
    if (!Bun.deepEquals(value, this.#value)) return false;
    this.#head = head;
    return true;
  }
}
