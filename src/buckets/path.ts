import { Fault } from "../base/fault.ts";

declare const checkedPath: unique symbol;
declare const checkedSegment: unique symbol;

/** TreePath is a relative, slash-separated path that cannot leave its bucket by its form. Only this file makes one. */
export type TreePath = string & { readonly [checkedPath]: true };

/** Segment is one name of a `TreePath`. Only this file makes one. */
export type Segment = string & { readonly [checkedSegment]: true };

/** treeRoot is the bucket's own folder. */
export const treeRoot = "" as TreePath;

/**
 * stagedPrefix begins the names of temporary files inside a bucket that is on another file system than `static_path` (rename cannot
 * cross file systems). No listing shows them, and no path may name them.
 */
export const stagedPrefix = ".~staged-";

/** maxPathBytes is the longest path: Linux takes no longer one, and files can be moved between stores. Work on a path grows with its depth. */
export const maxPathBytes = 4095;

/**
 * treePath checks the form of a path that a caller names: the first of two path checks. The second, on the disk, is `PathResolver`'s. What
 * is stored already may have a longer path, after its folder was moved.
 */
export function treePath(text: string): TreePath {
  if (isLongerThan(maxPathBytes, text))
    throw new Fault("InvalidInput", `path is too long; it may have ${maxPathBytes} bytes`, {
      field: "path",
      reason: "name_too_long",
    });
  const problem = problemIn(text);
  if (problem !== undefined) throw new Fault("InvalidInput", `path ${problem}`, { field: "path" });
  return text as TreePath;
}

/** folderPath is `treePath` for a folder, which may be written with a slash at its end; `""` and `/` are the bucket's own folder. */
export function folderPath(text: string): TreePath {
  return text === "" || text === "/" ? treeRoot : treePath(text.replace(/\/$/, ""));
}

/** parseTreePath is undefined for a text that is neither a path nor the bucket's own folder. */
export function parseTreePath(text: string): TreePath | undefined {
  return text === "" || problemIn(text) === undefined ? (text as TreePath) : undefined;
}

/** pathSegment checks one name; throws InvalidInput. */
export function pathSegment(name: string): Segment {
  const problem = problemInSegment(name);
  if (problem !== undefined) throw new Fault("InvalidInput", `path ${problem}`, { field: "path" });
  return name as Segment;
}

/** parseSegment is undefined for a name that no path can contain. */
export function parseSegment(name: string): Segment | undefined {
  return problemInSegment(name) === undefined ? (name as Segment) : undefined;
}

export function childPath(folder: TreePath, name: Segment): TreePath {
  return (folder === treeRoot ? name : `${folder}/${name}`) as string as TreePath;
}

/** listedPath returns the path of a name that was read from a folder on the disk; undefined when no path can name it. */
export function listedPath(folder: TreePath, name: string): TreePath | undefined {
  const segment = parseSegment(name);
  if (segment === undefined || (folder === treeRoot && driveLetter.test(name))) return undefined;
  return childPath(folder, segment);
}

/** splitPath cuts off the last name. The bucket's own folder has the name `""` in itself. */
export function splitPath(path: TreePath): { readonly folder: TreePath; readonly name: Segment } {
  const slash = path.lastIndexOf("/");
  return {
    folder: path.slice(0, Math.max(slash, 0)) as TreePath,
    name: path.slice(slash + 1) as string as Segment,
  };
}

export function segmentsOf(path: TreePath): Segment[] {
  return path === treeRoot ? [] : (path.split("/") as string[] as Segment[]);
}

/** pathBelow returns the text between a folder and a path in it; the path itself where the folder is the bucket's own. */
export function pathBelow(path: TreePath, folder: TreePath): string {
  return folder === treeRoot ? path : path.slice(folder.length + 1);
}

/** transplant returns the path that something below `from` has after `from` was put at `to`. */
export function transplant(path: TreePath, from: TreePath, to: TreePath): TreePath {
  const below = pathBelow(path, from);
  return (to === treeRoot ? below : `${to}/${below}`) as TreePath;
}

export function isBelow(path: TreePath, folder: TreePath): boolean {
  return path !== folder && (folder === treeRoot || path.startsWith(`${folder}/`));
}

/** withAncestors returns a path and every folder above it, the nearest first and the bucket's own folder last. */
export function withAncestors(path: TreePath): TreePath[] {
  const found = [path];
  for (let at = path; at !== treeRoot; ) {
    at = splitPath(at).folder;
    found.push(at);
  }
  return found;
}

const driveLetter = /^[A-Za-z]:/;

function problemIn(text: string): string | undefined {
  if (text === "") return "is empty";
  if (text.startsWith("/")) return "begins with /; it must be relative to the bucket";
  const characters = problemInCharacters(text);
  if (characters !== undefined) return characters;
  if (driveLetter.test(text)) return "begins with a drive letter; it must be relative to the bucket";
  for (const segment of text.split("/")) {
    const problem = problemInName(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A character has three bytes at most for each of its UTF-16 units. */
function isLongerThan(maxBytes: number, text: string): boolean {
  return text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes);
}

function problemInSegment(name: string): string | undefined {
  if (name.includes("/")) return "contains a slash within a name";
  return problemInCharacters(name) ?? problemInName(name);
}

function problemInCharacters(text: string): string | undefined {
  if (text.includes("\0")) return "contains a NUL character";
  if (text.includes("\\")) return "contains a backslash; folders are separated by /";
  return text.isWellFormed() ? undefined : "contains half of a surrogate pair";
}

function problemInName(name: string): string | undefined {
  if (name === "..") return "contains `..`";
  if (name === "." || name === "") return "contains an empty or `.` segment";
  if (name.startsWith(stagedPrefix))
    return `contains a name that begins with ${stagedPrefix}, which the server keeps for itself`;
  return undefined;
}

/** isAscii returns whether a path has one Unicode form only. */
export function isAscii(path: string): boolean {
  return /^[\x20-\x7e]*$/.test(path);
}

/** commonFolder returns the deepest folder that is at or above both folders. */
export function commonFolder(a: TreePath, b: TreePath): TreePath {
  let common = a;
  while (common !== treeRoot && common !== b && !isBelow(b, common)) common = splitPath(common).folder;
  return common;
}
