import { isFolderValue } from "../../db/rows/entry-rows.ts";
import type { EntryValue } from "../../db/rows/entry-values.ts";
import type { TreePath } from "../path.ts";
import { etagOfContent, type FileEntry, type FileSnapshot, type FileStats } from "../ports.ts";
import { EntrySnapshot, type SnapshotRows } from "./entry-snapshot.ts";
import type { Head } from "./heads.ts";

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
  readonly #head: Head;
  readonly #rows: SnapshotRows;

  constructor(rows: SnapshotRows, { path, value, head }: EntryState) {
    this.#rows = rows;
    this.path = path;
    this.stats = new EntryStats(value);
    this.#head = head;
  }

  get kind(): "file" | "folder" {
    return isFolderValue(this.stats.value) ? "folder" : "file";
  }

  snapshot(): FileSnapshot {
    return new EntrySnapshot(this.#rows, {
      path: this.path,
      value: this.stats.value,
      head: this.#head,
    });
  }
}

export interface EntryState {
  readonly path: TreePath;
  readonly value: EntryValue;
  readonly head: Head;
}
