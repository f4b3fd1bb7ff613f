import { Fault } from "../../base/fault.ts";
import { folderPath, type TreePath, treePath } from "../../buckets/path.ts";

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
    if (text === "") return { path: folderPath(""), slash: true, text };
    return { path: treePath(text.replace(/\/$/, "")), slash: text.endsWith("/"), text };
  } catch (error) {
    if (error instanceof URIError || error instanceof Fault) return undefined;
    throw error;
  }
}
