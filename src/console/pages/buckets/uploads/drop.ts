/** File to upload. `path` is relative to the target folder. */
export interface Incoming<F = File> {
  readonly path: string;
  readonly file: F;
}

export interface DropContents<F = File> {
  readonly files: Incoming<F>[];
  /** Empty folders, which no file upload would create. */
  readonly emptyFolders: string[];
}

/** droppedFolders returns the names of dropped folders that contain something. */
export function droppedFolders<F>({ files, emptyFolders }: DropContents<F>): string[] {
  const paths = [...files.map(({ path }) => path), ...emptyFolders].filter((path) => path.includes("/"));
  return [...new Set(paths.map((path) => path.slice(0, path.indexOf("/"))))];
}

/** contentsOf returns the contents of dropped folders and the files beside them; undefined when two of them get the same path. */
export function contentsOf<F>({ files, emptyFolders }: DropContents<F>): DropContents<F> | undefined {
  const within = (path: string) => path.slice(path.indexOf("/") + 1);
  const contents = {
    files: files.map(({ path, file }) => ({ path: within(path), file })),
    emptyFolders: emptyFolders.filter((path) => path.includes("/")).map(within),
  };
  const paths = new Set(contents.files.map(({ path }) => path));
  return paths.size === files.length ? contents : undefined;
}

/** Subset of the File and Directory Entries API. */
export interface DroppedEntry {
  readonly name: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
}
interface DroppedFile<F = File> extends DroppedEntry {
  file(done: (file: F) => void, failed: (error: unknown) => void): void;
}
interface DroppedFolder extends DroppedEntry {
  createReader(): {
    readEntries(done: (entries: DroppedEntry[]) => void, failed: (error: unknown) => void): void;
  };
}

/** Collects all dropped files, including those in folders at any depth. */
export async function walk<F = File>(entries: readonly DroppedEntry[]): Promise<DropContents<F>> {
  const found: DropContents<F> = { files: [], emptyFolders: [] };
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

/** Browsers return entries in batches (Chromium 100), and an empty batch at the end. */
async function entriesOf(folder: DroppedFolder): Promise<DroppedEntry[]> {
  const reader = folder.createReader();
  const all: DroppedEntry[] = [];
  for (;;) {
    const some = await new Promise<DroppedEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}
