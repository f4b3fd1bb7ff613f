/** A file on its way into a bucket; `path` is where, below the folder it is dropped on. */
export interface Incoming<F = File> {
  readonly path: string;
  readonly file: F;
}

export interface Dropped<F = File> {
  readonly files: Incoming<F>[];
  /** Folders without anything in them, which no file would make. */
  readonly emptyFolders: string[];
}

/** What of the File and Directory Entries API is needed here. */
export interface DroppedEntry {
  readonly name: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
}
export interface DroppedFile<F = File> extends DroppedEntry {
  file(done: (file: F) => void, failed: (error: unknown) => void): void;
}
export interface DroppedFolder extends DroppedEntry {
  createReader(): {
    readEntries(done: (entries: DroppedEntry[]) => void, failed: (error: unknown) => void): void;
  };
}

/** Every file in what was dropped, and in the folders of it, as deep as they go. */
export async function walk<F = File>(entries: readonly DroppedEntry[]): Promise<Dropped<F>> {
  const found: Dropped<F> = { files: [], emptyFolders: [] };
  const waiting = entries.map((entry) => ({ entry, path: entry.name }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { entry, path } = next;
    if (entry.isFile) found.files.push({ path, file: await fileOf(entry as DroppedFile<F>) });
    if (!entry.isDirectory) continue;
    const inside = await entriesOf(entry as DroppedFolder);
    if (inside.length === 0) found.emptyFolders.push(path);
    for (const entry of inside) waiting.push({ entry, path: `${path}/${entry.name}` });
  }
  return found;
}

function fileOf<F>(entry: DroppedFile<F>): Promise<F> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** Browsers hand out some at a time (Chromium 100), and none at the end. */
async function entriesOf(folder: DroppedFolder): Promise<DroppedEntry[]> {
  const reader = folder.createReader();
  const all: DroppedEntry[] = [];
  for (;;) {
    const some = await new Promise<DroppedEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}
