import { Fault } from "../../base/fault.ts";
import { type BucketFiles, type NodeServerClient, NotFound, Unreachable } from "../../client/index.ts";

export interface RemoteFile {
  readonly size: number;
  /** Unix milliseconds. */
  readonly mtime: number;
}

export type RemoteTree = ReadonlyMap<string, RemoteFile>;

/** Every file of a bucket; `missing` says what to do when there is no such bucket. */
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

/** A time that went through seconds with a fraction may have lost a millisecond. */
export function sameTime(a: number, b: number): boolean {
  return Math.abs(a - b) <= 2;
}

export function sameRemote(a: RemoteFile | undefined, b: RemoteFile | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && sameTime(a.mtime, b.mtime);
}

/** Every folder on the way to these files. */
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

/** What the server holds, piece by piece. A connection that breaks meanwhile is told as such, never as the end. */
export async function* contentOf(
  files: BucketFiles,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const response = await files.open(path, { signal });
  const length = response.headers.get("content-length");
  let bytes = 0;
  const broken = (cause?: unknown) =>
    new Unreachable(`${path}: the connection broke after ${bytes} bytes`, { cause });
  const reader = response.body?.getReader();
  for (;;) {
    const part = await reader?.read().catch((error: unknown) => {
      throw signal.aborted ? signal.reason : broken(error);
    });
    if (part?.value === undefined) break;
    bytes += part.value.length;
    yield part.value;
  }
  if (length !== null && bytes !== Number(length)) throw broken();
}

export async function hashRemote(files: BucketFiles, path: string, signal: AbortSignal): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const part of contentOf(files, path, signal)) hasher.update(part);
  return hasher.digest("hex");
}
