import { Fault } from "../base/fault.ts";
import { byCodeUnits, Pacer, sortInTurns } from "../base/turns.ts";
import { sha256Of } from "../blobs/content.ts";
import { type TreePath, treeRoot } from "./path.ts";
import {
  type FileEntry,
  type FileReader,
  isEtagOfContent,
  type ListedFile,
  type ReuseOptions,
  type Tree,
  type TreeFiles,
  type WantedFile,
} from "./ports.ts";

// What is done with whole trees, over the few methods that every kind of tree has.

/** UnreadableFolder is called with a folder that cannot be read, and the reason. */
type UnreadableFolder = (path: TreePath, error: unknown) => void;

/**
 * walk yields everything below a folder, a folder before what it contains. A folder that cannot be read goes to `onUnreadable`;
 * without it, it throws. Throws NotFound if the folder itself does not exist, InvalidInput if it is a file.
 */
export async function* walk(
  reader: FileReader,
  folder: TreePath,
  onUnreadable?: UnreadableFolder,
): AsyncGenerator<FileEntry> {
  for await (const entries of walkInBatches(reader, folder, onUnreadable)) yield* entries;
}

/** walkInBatches is `walk`, a part of a folder at a time. */
async function* walkInBatches(
  reader: FileReader,
  folder: TreePath,
  onUnreadable?: UnreadableFolder,
): AsyncGenerator<FileEntry[]> {
  const folders: Array<TreePath | FileEntry> = [folder];
  const pacer = new Pacer();
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    if (pacer.isDue) await pacer.nextTurn();
    try {
      for await (const entries of reader.entries(at)) {
        for (const entry of entries) if (entry.kind === "folder") folders.push(entry);
        yield entries;
      }
    } catch (error) {
      // A folder inside may be removed during the walk; the folder that was asked for must exist.
      if (at !== folder && error instanceof Fault && error.kind === "NotFound") continue;
      if (onUnreadable === undefined) throw error;
      onUnreadable(typeof at === "string" ? at : at.path, error);
    }
  }
}

/** filesBelow returns every file below a folder, sorted by path. It throws as `walk` does. */
export async function filesBelow(reader: FileReader, folder: TreePath): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  let isSorted = true;
  // A copy: an entry keeps all that the store knows of its file, which takes several times the memory.
  for await (const entries of walkInBatches(reader, folder))
    for (const { kind, path, stats } of entries)
      if (kind === "file") files.push({ path, size: stats.size, modifiedMs: stats.modifiedMs });
      else isSorted = false;
  return isSorted ? files : sortInTurns(files, (a, b) => byCodeUnits(a.path, b.path));
}

/** firstEntries returns some of what a folder contains; nothing if it is empty. */
export async function firstEntries(reader: FileReader, folder: TreePath): Promise<FileEntry[]> {
  for await (const entries of reader.entries(folder)) if (entries.length > 0) return entries;
  return [];
}

/** removeAll removes everything in a tree, also what clients have locked. Throws the first failure. */
export async function removeAll(tree: TreeFiles): Promise<void> {
  for (;;) {
    const entries = await firstEntries(tree.reader, treeRoot);
    if (entries.length === 0) return;
    await tree.transact([treeRoot], async (transaction) => {
      for (const entry of entries) {
        const {
          failures: [failure],
        } = await transaction.remove(entry);
        if (failure !== undefined) throw failure.fault;
      }
    });
  }
}

/** Files of a tree that are searched for content at another path; those beyond are uploaded again. */
const maxSearched = 100_000;
/** Files that are tried for the content of one file, where only sizes can be compared at first. */
const maxCandidates = 4;

interface TreeReuse extends Omit<ReuseOptions, "sourcesOf"> {
  readonly from: Tree;
  readonly to: Tree;
}

/** reuseContent gives a tree the files whose content another one has, at whatever path, and returns those that neither has. */
export async function reuseContent(
  files: readonly WantedFile[],
  { from, to, ...options }: TreeReuse,
): Promise<WantedFile[]> {
  const elsewhere = await to.reuse(from, files, { ...options, sourcesOf: ({ path }) => [path] });
  const wanted = elsewhere.filter(({ size }) => size > 0);
  if (wanted.length === 0) return elsewhere;
  const sourcesOf = await candidates(from.reader, wanted, options.signal);
  const found = wanted.filter((file) => sourcesOf(file).length > 0);
  if (found.length === 0) return elsewhere;
  const reused = new Set(found);
  for (const file of await to.reuse(from, found, { ...options, sourcesOf })) reused.delete(file);
  return elsewhere.filter((file) => !reused.has(file));
}

/** Searches a tree for files that have, or may have, the wanted content: by its hash if the store knows that, else by its size. */
async function candidates(
  reader: FileReader,
  wanted: readonly WantedFile[],
  signal: AbortSignal,
): Promise<ReuseOptions["sourcesOf"]> {
  const found = new Map<string | number, TreePath[]>();
  for (const { size, sha256 } of wanted) found.set(size, []).set(sha256, []);
  const pacer = new Pacer();
  let searched = 0;
  for await (const { kind, path, stats } of walk(reader, treeRoot)) {
    signal.throwIfAborted();
    if (pacer.isDue) await pacer.nextTurn();
    searched += 1;
    if (searched > maxSearched) break;
    const paths = kind === "file" ? found.get(stats.sha256 ?? stats.size) : undefined;
    if (paths !== undefined && paths.length < maxCandidates) paths.push(path);
  }
  return ({ size, sha256 }) => [...(found.get(sha256) ?? []), ...(found.get(size) ?? [])];
}

/** TreeChange is a file that one tree has otherwise than another one. */
export interface TreeChange {
  readonly path: TreePath;
  readonly change: "added" | "changed" | "removed";
  /** In bytes; of a removed file, what it had. */
  readonly size: number;
}

/** TreeChanges is what is different in a tree. */
export interface TreeChanges {
  readonly counts: Readonly<Record<TreeChange["change"] | "unchanged", number>>;
  /** The first by path, at most as many as were asked for. */
  readonly first: readonly TreeChange[];
}

/** Content that is read to compare two trees, where the store knows no hash of it. A file beyond counts as changed. */
const maxComparedBytes = 256 * 1024 * 1024;

/** compareTrees tells what `after` has that `before` has not, and the other way round. */
export async function compareTrees(
  before: FileReader,
  after: FileReader,
  maxFirst: number,
): Promise<TreeChanges> {
  const known = new Map<TreePath, { readonly size: number; readonly etag: string }>();
  for await (const { kind, path, stats } of walk(before, treeRoot))
    if (kind === "file") known.set(path, { size: stats.size, etag: stats.etag });
  const changes: TreeChange[] = [];
  let unchanged = 0;
  let leftBytes = maxComparedBytes;
  for await (const { kind, path, stats } of walk(after, treeRoot)) {
    if (kind !== "file") continue;
    const { size, etag } = stats;
    const old = known.get(path);
    known.delete(path);
    const mayBeSame = old !== undefined && old.size === size;
    let isSame = mayBeSame && old.etag === etag;
    if (mayBeSame && !isSame && !(isEtagOfContent(old.etag) && isEtagOfContent(etag)) && size <= leftBytes) {
      leftBytes -= size;
      isSame = (await hashOf(before, path)) === (await hashOf(after, path));
    }
    if (isSame) unchanged += 1;
    else changes.push({ path, change: old === undefined ? "added" : "changed", size });
  }
  for (const [path, { size }] of known) changes.push({ path, change: "removed", size });
  const sorted = await sortInTurns(changes, (a, b) => byCodeUnits(a.path, b.path));
  const count = (wanted: TreeChange["change"]) => changes.filter(({ change }) => change === wanted).length;
  const counts = {
    added: count("added"),
    changed: count("changed"),
    removed: count("removed"),
    unchanged,
  };
  return { counts, first: sorted.slice(0, maxFirst) };
}

async function hashOf(reader: FileReader, path: TreePath): Promise<string> {
  await using file = await reader.open(path);
  return await sha256Of(file);
}
