import { basename } from "node:path";
import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";

/** BucketPath is a file or a folder of a bucket, as `BUCKET/PATH` names it. */
export interface BucketPath {
  readonly bucket: string;
  /** Without a slash at its beginning or end; empty for the bucket itself. */
  readonly path: string;
  /** Whether a slash at the end says that it is a folder. */
  readonly isFolder: boolean;
}

/** A place that `cp` reads or writes: on this machine, or in a bucket. */
export type Location = { readonly disk: string } | BucketPath;

/** Paths of this machine begin like these; everything else is `BUCKET/PATH`, whatever exists here or there. */
const localBeginning = /^(\/|\.{1,2}(\/|$)|-$)/;

/** Reads `BUCKET/PATH`. */
export function parseBucketPath(text: string): BucketPath {
  if (localBeginning.test(text))
    throw new WrongUsage(`${visible(text)} is a local path; write BUCKET/PATH, such as site/index.html`);
  const [bucket = "", ...names] = text.split("/");
  const path = names.filter((name) => name !== "").join("/");
  if (bucket === "" || names.some((name) => name === "." || name === ".."))
    throw new WrongUsage(
      `${JSON.stringify(text)} is not a path inside a bucket: write BUCKET/PATH without . and .., or BUCKET/ for everything in it`,
    );
  return { bucket, path, isFolder: path === "" || text.endsWith("/") };
}

export function parseLocation(text: string): Location {
  return localBeginning.test(text) ? { disk: text } : parseBucketPath(text);
}

export function isLocal(location: Location): location is { readonly disk: string } {
  return "disk" in location;
}

/** The last name of a path in a bucket; empty for a bucket itself. */
export function nameOf({ path }: BucketPath): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The last name of a path of this machine; empty for a folder that is named by `.`: then its content is meant. */
export function localName(ctx: Context, disk: string): string {
  return /(^|\/)\.\/*$/.test(disk) ? "" : basename(ctx.path(disk));
}

/** The path of a name in a folder of a bucket. */
export function pathIn(folder: string, name: string): string {
  return [folder, name].filter((part) => part !== "").join("/");
}

/** Writes a path as the user does. */
export function shown({ bucket, path }: Pick<BucketPath, "bucket" | "path">): string {
  return visible(path === "" ? bucket : `${bucket}/${path}`);
}
