/**
 * HeadValue is the row of a bucket in `static-files/heads`, by the path of the bucket's record. Every change of its files locks
 * this row.
 */
export interface HeadValue {
  /** Raised by one with every change of the bucket's files. */
  readonly version: number;
  /** The id of the bucket's own folder. */
  readonly root: string;
  /** When it was last changed, in Unix milliseconds. */
  readonly at: number;
  /** The times of the bucket's own folder; it was created when its id was made. Missing until a name in it, or a client, changes them. */
  readonly modified?: number;
  readonly accessed?: number;
}

interface EntryTimes {
  /** In Unix milliseconds, like all times here. */
  readonly modified: number;
  readonly created: number;
  /** Missing unless a client set it. */
  readonly accessed?: number;
  /** The version of the bucket that last changed this entry. */
  readonly version: number;
}

/** FileValue is a file, in the namespace `static-files/<folder id>` under its name. */
export interface FileValue extends EntryTimes {
  /** The key of its blob; null for an empty file, which has none. */
  readonly blob: string | null;
  /** SHA-256 of the content, in hexadecimal. */
  readonly hash: string;
  /** In bytes. */
  readonly size: number;
  /** What a transport has stored with the content, in base64; missing for none. */
  readonly record?: string;
}

/** FolderValue is a folder, in the namespace of the folder that contains it. Its own entries have the namespace `static-files/<id>`. */
export interface FolderValue extends EntryTimes {
  /** A random UUID (version 7). It stays the same when the folder is renamed or moved. */
  readonly id: string;
}

export type EntryValue = FileValue | FolderValue;

/** RemovedValue is what was deleted or replaced, in `static-files/removed/<bucket path>` under `<version>/<name>`. */
export interface RemovedValue {
  /** The path that it had in the bucket. */
  readonly path: string;
  readonly entry: EntryValue;
  /** When it was removed. */
  readonly at: number;
  /** It is kept at least until this time. */
  readonly until: number;
}

/**
 * DeployValue is a tree that is published, was published, or is being prepared, in `static-files/deploys/<bucket path>` under its
 * id. Times are Unix milliseconds. A published tree is at the bucket's own place, every other one at a place of its own.
 */
export interface DeployValue {
  /** `open` while it is filled, `ready` once that has ended. */
  readonly state: "open" | "ready" | "published" | "previous";
  /** The place of its tree; null if it is published. */
  readonly place: string | null;
  /** Names the tree whichever place it has, for a start after a crash; null in a store whose switch is a transaction. */
  readonly tree: string | null;
  readonly at: number;
  /** The key of the access token that made it, and its user name; empty for files that were there before the first deploy. */
  readonly by: string;
  readonly username: string | null;
  readonly note: string;
  /** The name of its stable preview address; missing if it has none. */
  readonly preview?: string;
  /** When something was last put into it. */
  readonly touched: number;
  readonly published_at: number | null;
  /** How often its tree has come to the bucket's own place or has left it; missing if never. A preview link ends with the next time. */
  readonly exchanges?: number;
  /** The version of the bucket's head right after it was published; null in a store that has none. */
  readonly version: number | null;
  /** Whether files were changed since it was first published. */
  readonly changed: boolean;
  /** Counted when it is first listed and takes no more files; null before, and while a large one is counted. */
  readonly files: number | null;
  readonly bytes: number | null;
  /** Set while its tree is being exchanged with that of the published deploy, which may not have happened after a crash. */
  readonly switching?: {
    readonly at: number;
    /** Whether the tree that is published is kept. */
    readonly keeps: boolean;
    /** Whether it counts as a new publication. */
    readonly isNew: boolean;
  };
}
