/** HeadValue is the row of a bucket in `static-files/heads`, by the path of the bucket's record. Every change of its files locks this row. */
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

/** DeployValue is a published or prepared tree, in `static-files/deploys/<bucket path>` under its id. */
export interface DeployValue {
  readonly root: string;
  readonly at: number;
  /** The key of the access token that made it. */
  readonly by: string;
  readonly note: string;
}
