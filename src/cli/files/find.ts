import { Fault } from "../../base/fault.ts";
import { type BucketEntry, InvalidInput, type NodeServerClient, NotFound } from "../../client/index.ts";
import { BucketReader } from "../transfer/bucket-reader.ts";
import type { RemoteFile } from "../transfer/remote-tree.ts";
import { type BucketPath, shown } from "./location.ts";

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
    const params = { name: at.bucket, path: at.path };
    return (await client.callAny("static-bucket-file_list", params, signal)) as ListedFile[];
  } catch (error) {
    if (error instanceof NotFound) throw await missing(client, at);
    if (error instanceof InvalidInput) throw new Fault("InvalidInput", `${shown(at)}: ${error.detail}`);
    throw error;
  }
}
