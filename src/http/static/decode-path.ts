import { parseTreePath, type TreePath, treeRoot } from "../../buckets/path.ts";

export interface DecodedPath {
  readonly path: TreePath;
  /** Whether the path ends in a slash. */
  readonly slash: boolean;
  /** The path with its slash. */
  readonly text: string;
}

/**
 * decodePath percent-decodes each segment once; undefined if the path is invalid. A segment with an encoded slash (%2F) is
 * rejected: no file name contains a slash.
 */
export function decodePath(raw: string): DecodedPath | undefined {
  try {
    const segments = raw.split("/").map(decodeURIComponent);
    if (segments.some((segment) => segment.includes("/"))) return undefined;
    const text = segments.join("/");
    if (text === "") return { path: treeRoot, slash: true, text };
    const name = text.replace(/\/$/, "");
    const path = name === "" ? undefined : parseTreePath(name);
    return path && { path, slash: text.endsWith("/"), text };
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
