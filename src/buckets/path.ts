import { Fault } from "../base/fault.ts";

declare const checked: unique symbol;

/** A relative, slash-separated path known to stay inside its bucket. Only `treePath` makes one. */
export type TreePath = string & { readonly [checked]: true };

/** The bucket's own folder. */
export const treeRoot = "" as TreePath;

/**
 * Names with this beginning are the server's own: what stands in a bucket's folder for a while because that is on a file system of its
 * own. No listing shows them, so no path may name them.
 */
export const stagedPrefix = ".~staged-";

/** First of the two path checks: the form. The second, on the disk, is `Tree`'s. */
export function treePath(text: string): TreePath {
  const refuse = (why: string) => new Fault("InvalidInput", `path ${why}`, { field: "path" });
  if (text === "") throw refuse("is empty");
  if (text.includes("\0")) throw refuse("holds a NUL character");
  if (text.includes("\\")) throw refuse("holds a backslash; folders are separated by /");
  if (text.startsWith("/")) throw refuse("begins with /; it must be relative to the bucket");
  if (/^[A-Za-z]:/.test(text)) throw refuse("begins with a drive letter; it must be relative to the bucket");
  if (!text.isWellFormed()) throw refuse("holds half a character");
  for (const segment of text.split("/")) {
    if (segment === "..") throw refuse("holds `..`");
    if (segment === "." || segment === "") throw refuse("holds an empty or `.` segment");
    if (segment.startsWith(stagedPrefix))
      throw refuse(`holds a name that begins with ${stagedPrefix}, which the server keeps for itself`);
  }
  return text as TreePath;
}

/** A folder may be written with a slash at its end. */
export function folderPath(text: string): TreePath {
  return text === "" || text === "/" ? treeRoot : treePath(text.replace(/\/$/, ""));
}

export function childPath(folder: TreePath, name: string): TreePath {
  return (folder === "" ? name : `${folder}/${name}`) as TreePath;
}

export function splitPath(path: TreePath): { readonly folder: TreePath; readonly name: string } {
  const slash = path.lastIndexOf("/");
  return { folder: path.slice(0, Math.max(slash, 0)) as TreePath, name: path.slice(slash + 1) };
}
