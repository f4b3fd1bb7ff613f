/** A file or a folder in a listing. */
export interface Entry {
  readonly name: string;
  readonly folder: boolean;
  /** In bytes; of a folder unknown. */
  readonly size: number | undefined;
  /** In Unix milliseconds. */
  readonly changed: number;
}

interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly mtime: number;
}

/** What stands directly in a folder, from the paths of all files below it. Folders are as new as the newest file in them. */
export function entriesFrom(files: readonly ListedFile[], folder: string): Entry[] {
  const start = folder === "" ? 0 : folder.length + 1;
  const found = new Map<string, Entry>();
  for (const { path, size, mtime } of files) {
    const slash = path.indexOf("/", start);
    const name = path.slice(start, slash === -1 ? undefined : slash);
    if (slash === -1) found.set(name, { name, folder: false, size, changed: mtime });
    else {
      const changed = Math.max(mtime, found.get(name)?.changed ?? 0);
      found.set(name, { name, folder: true, size: undefined, changed });
    }
  }
  return [...found.values()];
}
