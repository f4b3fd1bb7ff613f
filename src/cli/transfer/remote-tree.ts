import { Fault } from "../../base/fault.ts";
import { type NodeServerClient, NotFound } from "../../client/index.ts";
import { bodyPieces } from "../../client/response-body.ts";
import type { FileSource } from "./bucket-reader.ts";

export interface RemoteFile {
  readonly size: number;
  /** Unix milliseconds. */
  readonly mtime: number;
}

export type RemoteTree = ReadonlyMap<string, RemoteFile>;

/** Lists every file of a bucket. `missing` is the advice in the error when the bucket does not exist. */
export async function listRemote(
  client: NodeServerClient,
  bucket: string,
  { missing, signal }: { readonly missing: string; readonly signal: AbortSignal },
): Promise<RemoteTree> {
  try {
    const listed = await client.callAny("static-bucket-file_list", { name: bucket }, signal);
    return new Map(
      (listed as ({ path: string } & RemoteFile)[]).map(({ path, size, mtime }) => [path, { size, mtime }]),
    );
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    throw new Fault("NotFound", `the server has no bucket ${bucket}; ${missing}`);
  }
}

/** `sameTime` returns whether two times are equal, apart from rounding: `x-oc-mtime` is in seconds with a fraction. */
export function sameTime(a: number, b: number): boolean {
  return Math.abs(a - b) <= 2;
}

export function sameRemote(a: RemoteFile | undefined, b: RemoteFile | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && sameTime(a.mtime, b.mtime);
}

/** Lists the parent folders of these paths, and theirs. */
export function foldersOf(paths: Iterable<string>): Set<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}

/** Yields a file of the bucket. A connection that breaks meanwhile is an error, never the end of the file. */
export async function* contentOf(
  files: FileSource,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* bodyPieces(await files.open(path, { signal }), { path, signal });
}

export async function hashRemote(files: FileSource, path: string, signal: AbortSignal): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const part of contentOf(files, path, signal)) hasher.update(part);
  return hasher.digest("hex");
}
