import { Fault } from "../../base/fault.ts";
import type { BucketEntry, NodeServerClient } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { BucketReader } from "../transfer/bucket-reader.ts";
import { type CopySummary, copyAll, makeFolders } from "../transfer/copy-engine.ts";
import { contentOf, foldersOf } from "../transfer/remote-tree.ts";
import { refusalOf } from "../transfer/send.ts";
import { filesBelow, type ListedFile, requireEntry } from "./find.ts";
import { type BucketPath, nameOf, shown } from "./location.ts";
import { pathFor } from "./upload.ts";

/** Relocation is a copy or a move from one path of the server to another. */
export interface Relocation {
  readonly from: BucketPath;
  readonly to: BucketPath;
  readonly kind: "copy" | "move";
}

/**
 * Copies or moves a file or a folder on the server: within a bucket in one step there. A copy from one bucket to another goes
 * through this machine.
 */
export async function relocate(
  ctx: Context,
  client: NodeServerClient,
  { from, to, kind }: Relocation,
  signal: AbortSignal,
): Promise<CopySummary> {
  if (kind === "move" && from.bucket !== to.bucket)
    throw new WrongUsage(
      "mv works inside one bucket; copy with `node-server cp`, then delete with `node-server rm`",
    );
  const entry = await requireEntry(client, from);
  if (from.path === "" && (kind === "move" || from.bucket === to.bucket))
    throw new Fault("InvalidInput", `${from.bucket} is a whole bucket; name a file or a folder of it`);
  const path = await pathFor(client, to, nameOf(from));
  const target: BucketPath = { bucket: to.bucket, path, isFolder: false };
  const overwrite = await mayReplace(client, entry, target);
  if (from.bucket !== to.bucket) return copyAcross(ctx, client, { from, target, entry }, signal);
  const below = await filesOf(client, from, entry, signal);
  await makeFolders(ctx, client, { bucket: to.bucket, folders: foldersOf([path]) }, signal);
  await client.bucket(from.bucket)[kind](from.path, path, { overwrite, signal });
  const bytes = below.reduce((sum, { size }) => sum + size, 0);
  return { copied: below.length, bytes, left_out: [], failed: [] };
}

/** The file, or every file of the folder, that is copied. */
async function filesOf(
  client: NodeServerClient,
  from: BucketPath,
  entry: BucketEntry,
  signal: AbortSignal,
): Promise<ListedFile[]> {
  if (entry.folder) return filesBelow(client, from, signal);
  return [{ path: from.path, size: entry.size, mtime: entry.modified.getTime() }];
}

/** Tells whether a file may be replaced; throws where a folder would be, which WebDAV would empty first. */
async function mayReplace(
  client: NodeServerClient,
  entry: BucketEntry,
  target: BucketPath,
): Promise<boolean> {
  const present = await client.bucket(target.bucket).find(target.path);
  if (present === undefined) return false;
  if (present.folder && target.path === "") return false;
  if (entry.folder || present.folder)
    throw new Fault("InvalidInput", `${shown(target)} exists already; name another path, or delete it first`);
  return true;
}

interface Across {
  readonly from: BucketPath;
  readonly target: BucketPath;
  readonly entry: BucketEntry;
}

async function copyAcross(
  ctx: Context,
  client: NodeServerClient,
  { from, target, entry }: Across,
  signal: AbortSignal,
): Promise<CopySummary> {
  const [source, sink] = [new BucketReader(client, from.bucket), client.bucket(target.bucket)];
  const below = await filesOf(client, from, entry, signal);
  const pathOf = (path: string) => {
    const rest = path.slice(from.path.length).replace(/^\//, "");
    return [target.path, rest].filter((part) => part !== "").join("/");
  };
  const folders = foldersOf(below.map(({ path }) => pathOf(path)));
  await makeFolders(ctx, client, { bucket: target.bucket, folders }, signal);
  return copyAll(ctx, below, signal, async ({ path, mtime, size }, { meter, retry }, signal) => {
    try {
      await retry.attempt(signal, () =>
        sink.upload(pathOf(path), contentOf(source, path, signal), { signal, modified: new Date(mtime) }),
      );
      meter.add(size);
      return undefined;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      return refusal;
    }
  });
}
