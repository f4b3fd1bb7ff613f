import { basename } from "node:path";
import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import { type BucketEntry, InvalidInput, type NodeServerClient, NotFound } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { BucketReader, type RemoteFile } from "../transfer/remote-tree.ts";

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

/** Finds what is at a path of a bucket; throws if nothing is there. */
export async function requireEntry(client: NodeServerClient, at: BucketPath): Promise<BucketEntry> {
  const entry = await new BucketReader(client, at.bucket).find(at.path);
  if (entry === undefined) throw await missing(client, at);
  if (at.isFolder && !entry.folder) throw new Fault("InvalidInput", `${shown(at)} is a file, not a folder`);
  return entry;
}

/** Says whether the file is missing or its bucket. */
export async function missing(client: NodeServerClient, at: BucketPath): Promise<Fault> {
  const root = at.path === "" ? undefined : await new BucketReader(client, at.bucket).find("");
  if (root === undefined) return noBucket(at.bucket);
  const hint = /[*?[]/.test(at.path) ? "; patterns are not supported: name a file, or a folder with -r" : "";
  return new Fault("NotFound", `there is no ${shown(at)}${hint}`);
}

function noBucket(name: string): Fault {
  return new Fault(
    "NotFound",
    `the server has no bucket ${name}, or it is disabled; \`node-server buckets\` lists its buckets, and a local file is written ./${name}`,
  );
}

export interface ListedFile extends RemoteFile {
  readonly path: string;
}

/** Lists every file at a path of a bucket and below it, each with its whole path. */
export async function filesBelow(
  client: NodeServerClient,
  at: BucketPath,
  signal?: AbortSignal,
): Promise<ListedFile[]> {
  try {
    return await client.call("static-bucket-file_list", { name: at.bucket, path: at.path }, { signal });
  } catch (error) {
    if (error instanceof NotFound) throw await missing(client, at);
    if (error instanceof InvalidInput) throw new Fault("InvalidInput", `${shown(at)}: ${error.detail}`);
    throw error;
  }
}
