import type { Caller } from "../../auth/caller.ts";
import type { Turns } from "../../base/turns.ts";
import type { Files } from "../../buckets/files.ts";
import { splitPath, type TreePath, treeRoot } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import { Refused } from "./http-error.ts";

/** One request that was let in: who asks, for what, in which bucket. */
export interface Visit {
  readonly request: Request;
  readonly caller: Caller;
  readonly bucket: Bucket;
  readonly files: Files;
  readonly path: TreePath;
  /** The address was written as a folder's. */
  readonly slash: boolean;
  /** 0 means no limit. */
  readonly maxUploadBytes: number;
  /** For an answer that takes long to make. */
  readonly turns: Turns;
  /** To be called as a long body arrives: its client is slow, not gone. */
  readonly restartIdleTimer: () => void;
  /** Throws unless the caller and the bucket would be accepted now, read from the database: for what is done after a wait. */
  readonly assertStillAdmitted: () => Promise<void>;
}

export type Depth = 0 | 1 | "infinity";

export function depthOf({ request }: Visit, allowed: readonly Depth[], standard: Depth): Depth {
  const header = request.headers.get("depth")?.trim().toLowerCase();
  if (header === undefined) return standard;
  const depth = header === "0" ? 0 : header === "1" ? 1 : header === "infinity" ? header : undefined;
  if (depth === undefined || !allowed.includes(depth))
    throw new Refused(400, `Depth must be ${allowed.join(" or ")} here`);
  return depth;
}

/** RFC 4918 §9.7.1: nothing is made in a folder that does not exist. */
export async function requireParent(files: Files, path: TreePath): Promise<void> {
  if (path === treeRoot) return;
  const parent = await files.tree.find(splitPath(path).folder);
  if (parent?.kind !== "folder")
    throw new Refused(409, "the folder that it should be in does not exist; make it first");
}

/** `X-OC-Mtime`: seconds since 1970, which some clients send along to keep a file's time. */
export function modifiedOf({ request }: Visit): Date | undefined {
  const header = request.headers.get("x-oc-mtime");
  const seconds = header === null || header.trim() === "" ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && Math.abs(seconds) < 1e11 ? new Date(seconds * 1000) : undefined;
}
