import { Pacer } from "../../../base/turns.ts";
import { toListed } from "../../listed-files.ts";
import { isBelow, parseTreePath, pathBelow, type TreePath, transplant, treeRoot } from "../../path.ts";
import type { FileVersion, HistoryOptions, ListedFile, VersionName } from "../../ports.ts";
import { DiskReader } from "../read.ts";
import { PathResolver } from "../resolve.ts";
import type { BucketTrash, FoundItem } from "./bucket-trash.ts";

/** Something in an item, at the path that it had. */
interface Part {
  readonly path: TreePath;
  readonly kind: "file" | "folder";
  readonly size: number;
  readonly modifiedMs: number;
}

/** trashHistory implements `FileStore.history`. It reads the names of all that is kept, and looks at as many as it returns. */
export async function trashHistory(
  trash: BucketTrash,
  path: TreePath,
  options: HistoryOptions,
): Promise<FileVersion[]> {
  const { max, after } = options;
  const now = trash.now();
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
    for (const part of await partsOf(top, path, options)) {
      const one = { ...part, version };
      if (after === undefined || follows(one, after)) same.push({ ...one, removedAtMs, keptUntilMs });
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
  const modifiedMs = stats.mtimeMs;
  if (stats.isFile()) return isInside ? [] : [{ path: top, kind: "file", size: stats.size, modifiedMs }];
  if (!stats.isDirectory()) return [];
  if (!isInside && !filesOnly) return [{ path: top, kind: "folder", size: 0, modifiedMs }];
  const reader = new DiskReader(new PathResolver(diskPath));
  const inner = isInside ? (parseTreePath(pathBelow(path, top)) ?? treeRoot) : treeRoot;
  const entry = await reader.find(inner);
  if (entry === undefined) return [];
  const formerPath = (at: TreePath) => (at === treeRoot ? top : transplant(at, treeRoot, top));
  const toPart = ({ path, size, modifiedMs }: ListedFile, kind: Part["kind"]) => ({
    path: formerPath(path),
    kind,
    size: kind === "folder" ? 0 : size,
    modifiedMs,
  });
  if (entry.kind === "file" || !filesOnly) return [toPart(toListed(entry), entry.kind)];
  return (await reader.files(inner)).map((file) => toPart(file, "file"));
}

function follows(one: VersionName, after: VersionName): boolean {
  return one.version < after.version || (one.version === after.version && one.path > after.path);
}

function byPath(a: VersionName, b: VersionName): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
