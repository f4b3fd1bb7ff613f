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

/** The one folder that all of it is in; undefined where something lies beside it, or it holds no file. */
export function onlyFolder<F>({ files, emptyFolders }: Dropped<F>): string | undefined {
  const [first = ""] = files.map(({ path }) => path);
  const folder = first.slice(0, Math.max(first.indexOf("/"), 0));
  const paths = [...files.map(({ path }) => path), ...emptyFolders];
  return folder !== "" && paths.every((path) => path.startsWith(`${folder}/`)) ? folder : undefined;
}

/** What the folder holds, without the folder itself. */
export function contentsOf<F>({ files, emptyFolders }: Dropped<F>, folder: string): Dropped<F> {
  const start = folder.length + 1;
  return {
    files: files.map(({ path, file }) => ({ path: path.slice(start), file })),
    emptyFolders: emptyFolders.map((path) => path.slice(start)),
  };
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
