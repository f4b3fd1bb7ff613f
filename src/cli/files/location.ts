import { basename } from "node:path";
import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import {
  type BucketEntry,
  FileNotFound,
  InvalidInput,
  type NodeServerClient,
  NotFound,
} from "../../client/index.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { IgnorePattern, InvalidPattern } from "../transfer/ignore-pattern.ts";
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
  return new Fault("NotFound", `there is no ${shown(at)}`);
}

function noBucket(name: string): Fault {
  return new Fault(
    "NotFound",
    `the server has no bucket ${name}, or it is disabled; \`node-server buckets\` lists its buckets, and a local file is written ./${name}`,
  );
}

/** FoundPath is a file or a folder that a place of the command line names. */
export interface FoundPath {
  readonly path: string;
  readonly entry: BucketEntry;
}

/** patternNotes say what a pattern may have. */
export const patternNotes = `
A path may be a pattern, in quotes: * and ? stand for characters of a name, [a-z] for one of them, ** for any folders.`;

/**
 * findAll finds what is at a path of a bucket, or all that a pattern matches, without what is in a matching folder. Throws if that is
 * nothing. A name with a star, if it exists, is no pattern.
 */
export async function findAll(
  client: NodeServerClient,
  at: BucketPath,
): Promise<{ readonly found: readonly FoundPath[]; readonly isPattern: boolean }> {
  if (!/[*?[]/.test(at.path))
    return { found: [{ path: at.path, entry: await requireEntry(client, at) }], isPattern: false };
  const reader = new BucketReader(client, at.bucket);
  const exact = await reader.find(at.path);
  if (exact !== undefined) return { found: [{ path: at.path, entry: exact }], isPattern: false };
  const pattern = patternOf(at);
  const found: FoundPath[] = [];
  const folders = [at.path.slice(0, at.path.search(/[*?[]/)).replace(/\/?[^/]*$/, "")];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of await listIfThere(reader, folder)) {
      const path = pathIn(folder, entry.name);
      if (pattern.matches(path, entry.folder ? "folder" : "file")) found.push({ path, entry });
      else if (entry.folder && pattern.mayMatchBelow(path)) folders.push(path);
    }
  if (found.length > 0) return { found: found.sort((a, b) => (a.path < b.path ? -1 : 1)), isPattern: true };
  if ((await reader.find("")) === undefined) throw noBucket(at.bucket);
  throw new Fault("NotFound", `nothing in ${at.bucket} matches ${visible(at.path)}`);
}

/** The pattern that a path is, from the top of its bucket. */
export function patternOf({ path, isFolder }: Pick<BucketPath, "path" | "isFolder">): IgnorePattern {
  try {
    return new IgnorePattern(`/${path}${isFolder ? "/" : ""}`);
  } catch (error) {
    if (!(error instanceof InvalidPattern)) throw error;
    throw new WrongUsage(`the pattern ${visible(path)}: ${error.message}`);
  }
}

async function listIfThere(reader: BucketReader, folder: string): Promise<BucketEntry[]> {
  try {
    return await reader.list(folder);
  } catch (error) {
    if (error instanceof FileNotFound || error instanceof NotFound) return [];
    throw error;
  }
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
