import { statSync } from "node:fs";
import { Fault } from "../../base/fault.ts";
import type { NodeServerClient } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { type CopySummary, copyAll, makeFolders } from "../transfer/copy-engine.ts";
import { type LocalFile, readLocalTree, realFolder, stampOf } from "../transfer/local-tree.ts";
import { foldersOf } from "../transfer/remote-tree.ts";
import { reportSkipped } from "../transfer/report-skipped.ts";
import { sendFile } from "../transfer/send.ts";
import { type SkipOptions, SkipRules } from "../transfer/skip-rules.ts";
import { missing } from "./find.ts";
import { type BucketPath, localName, pathIn, shown } from "./location.ts";

export interface UploadOptions extends SkipOptions {
  readonly recursive?: boolean;
  readonly verbose?: boolean;
}

/** Uploads a file, or a folder with what is in it, or with `-` standard input. */
export async function upload(
  ctx: Context,
  client: NodeServerClient,
  { disk, to }: { readonly disk: string; readonly to: BucketPath },
  options: UploadOptions,
  signal: AbortSignal,
): Promise<CopySummary> {
  if (disk === "-") return uploadInput(ctx, client, { to, signal });
  const at = ctx.path(disk);
  const stats = statSync(at);
  if (!stats.isDirectory()) {
    const path = await pathFor(client, to, localName(ctx, disk));
    const file: LocalFile = { path, disk: at, stamp: stampOf(stats) };
    return send(ctx, client, { bucket: to.bucket, files: [file], folders: foldersOf([path]) }, signal);
  }
  if (!options.recursive) throw new Fault("InvalidInput", `${disk} is a folder; add -r to copy it`);
  const real = realFolder(ctx, disk);
  const { files, folders, omitted, skipped } = readLocalTree(real, SkipRules.read(real, options));
  reportSkipped(ctx, skipped, options);
  const top = await pathFor(client, to, localName(ctx, disk));
  const moved = [...files.values()].map((file) => ({ ...file, path: pathIn(top, file.path) }));
  const done = await send(
    ctx,
    client,
    { bucket: to.bucket, files: moved, folders: ["", ...folders].map((folder) => pathIn(top, folder)) },
    signal,
  );
  done.left_out.push(...omitted);
  return done;
}

/**
 * The path of a copy: with the name of its source in a folder that exists, or that is named with a slash at its end; else the
 * path itself.
 */
export async function pathFor(client: NodeServerClient, to: BucketPath, name: string): Promise<string> {
  const entry = await client.bucket(to.bucket).find(to.path);
  if (entry === undefined && to.path === "") throw await missing(client, to);
  return entry?.folder || to.isFolder ? pathIn(to.path, name) : to.path;
}

interface Sending {
  readonly bucket: string;
  readonly files: readonly LocalFile[];
  readonly folders: Iterable<string>;
}

async function send(
  ctx: Context,
  client: NodeServerClient,
  { bucket, files, folders }: Sending,
  signal: AbortSignal,
): Promise<CopySummary> {
  const wanted = [...folders].filter((folder) => folder !== "");
  await makeFolders(ctx, client, { bucket, folders: wanted }, signal);
  const target = client.bucket(bucket);
  const sized = files.map((file) => ({ ...file, size: file.stamp.size }));
  return copyAll(ctx, sized, signal, async (file, tools, signal) => {
    const sent = await sendFile(file, { files: target, ...tools }, signal);
    return "why" in sent ? { reason: sent.reason, why: sent.why } : undefined;
  });
}

async function uploadInput(
  ctx: Context,
  client: NodeServerClient,
  { to, signal }: { readonly to: BucketPath; readonly signal: AbortSignal },
): Promise<CopySummary> {
  if (to.isFolder)
    throw new Fault("InvalidInput", `${shown(to)} is a folder; name the file that standard input becomes`);
  let bytes = 0;
  await client.bucket(to.bucket).upload(to.path, ctx.input(), {
    makeFolders: true,
    signal,
    onProgress: (sent) => {
      bytes = sent;
    },
  });
  return { copied: 1, bytes, left_out: [], failed: [] };
}
