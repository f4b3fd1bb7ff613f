import type { Stats } from "node:fs";
import { Pacer } from "../../../base/turns.ts";
import type { FileVersion, HistoryOptions, VersionName } from "../../file-version.ts";
import { isBelow, parseTreePath, pathBelow, type TreePath, transplant, treeRoot } from "../../path.ts";
import { DiskReader } from "../read.ts";
import { PathResolver } from "../resolve.ts";
import type { BucketTrash, FoundItem } from "./bucket-trash.ts";

/** Something in an item, at the path that it had. */
interface Part {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly stats: Pick<Stats, "size" | "mtimeMs">;
}

/** trashHistory implements `FileStore.history`. It reads the names of all that is kept, and looks at as many as it returns. */
export async function trashHistory(
  trash: BucketTrash,
  path: TreePath,
  options: HistoryOptions,
): Promise<FileVersion[]> {
  const { max, after } = options;
  const now = Date.now();
  const pacer = new Pacer();
  const found: FileVersion[] = [];
  let same: FileVersion[] = [];
  const endVersion = () => {
    found.push(...same.sort(byPath));
    same = [];
  };
  for (const item of await trash.items()) {
    if (pacer.isDue) await pacer.nextTurn();
    if (item.keptUntilMs < now || (after !== undefined && item.version > after.version)) continue;
    // Two processes may have made one version each at the same time.
    if (same[0] !== undefined && same[0].version !== item.version) endVersion();
    if (found.length >= max) break;
    if (item.path !== undefined && !concerns(item.path, path)) continue;
    const top = await trash.locate(item);
    if (top === undefined) continue;
    const { version, removedAtMs, keptUntilMs } = item;
    for (const { path: at, kind, stats } of await partsOf(top, path, options)) {
      const one = { version, path: at };
      if (after !== undefined && !follows(one, after)) continue;
      const size = kind === "folder" ? 0 : stats.size;
      same.push({ ...one, kind, size, modifiedMs: stats.mtimeMs, removedAtMs, keptUntilMs });
    }
  }
  endVersion();
  return found.slice(0, max);
}

/** Whether what was removed at `top` has something at `path` or below it. */
function concerns(top: TreePath, path: TreePath): boolean {
  return top === path || isBelow(top, path) || isBelow(path, top);
}

async function partsOf(
  { path: top, diskPath, stats }: FoundItem,
  path: TreePath,
  { filesOnly }: HistoryOptions,
): Promise<Part[]> {
  if (!concerns(top, path)) return [];
  const isInside = isBelow(path, top);
  if (stats.isFile()) return isInside ? [] : [{ path: top, kind: "file", stats }];
  if (!stats.isDirectory()) return [];
  if (!isInside && !filesOnly) return [{ path: top, kind: "folder", stats }];
  const reader = new DiskReader(new PathResolver(diskPath));
  const inner = isInside ? (parseTreePath(pathBelow(path, top)) ?? treeRoot) : treeRoot;
  const entry = await reader.find(inner);
  if (entry === undefined) return [];
  const entries = filesOnly && entry.kind === "folder" ? await reader.files(inner) : [entry];
  return entries.map((entry) => ({
    path: entry.path === treeRoot ? top : transplant(entry.path, treeRoot, top),
    kind: entry.kind,
    stats: entry.stats.state,
  }));
}

function follows(one: VersionName, after: VersionName): boolean {
  return one.version < after.version || (one.version === after.version && one.path > after.path);
}

function byPath(a: VersionName, b: VersionName): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
