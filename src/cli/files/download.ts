import { statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault } from "../../base/fault.ts";
import type { NodeServerClient } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { BucketReader } from "../transfer/bucket-reader.ts";
import { type CopySummary, copyAll } from "../transfer/copy-engine.ts";
import { fetchFile, whyUnwritable } from "../transfer/fetch.ts";
import { realFolder } from "../transfer/local-tree.ts";
import { filesBelow, requireEntry } from "./find.ts";
import { type BucketPath, nameOf, shown } from "./location.ts";

/** Downloads a file, or with `recursive` a folder with every file in it. */
export async function download(
  ctx: Context,
  client: NodeServerClient,
  { from, disk }: { readonly from: BucketPath; readonly disk: string },
  { recursive }: { readonly recursive?: boolean },
  signal: AbortSignal,
): Promise<CopySummary> {
  const entry = await requireEntry(client, from);
  if (entry.folder && !recursive)
    throw new Fault("InvalidInput", `${shown(from)} is a folder; add -r to copy it`);
  const isInside =
    disk.endsWith("/") || statSync(ctx.path(disk), { throwIfNoEntry: false })?.isDirectory() === true;
  const name = nameOf(from);
  if (isInside && whyUnwritable(name) !== undefined && name !== "")
    throw new Fault("InvalidInput", `${shown(from)} cannot be written under this name; name the file here`);
  const target = ctx.path(isInside ? join(disk, name) : disk);
  const files = new BucketReader(client, from.bucket);
  if (!entry.folder) {
    await mkdir(dirname(target), { recursive: true });
    const dir = realFolder(ctx, dirname(target));
    const file = {
      path: from.path,
      as: basename(target),
      size: entry.size,
      mtime: entry.modified.getTime(),
      dir,
    };
    return copyAll(ctx, [file], signal, async (file, tools, signal) => {
      const got = await fetchFile(file, { files, ...tools }, signal);
      return "why" in got ? got : undefined;
    });
  }
  const listed = await filesBelow(client, from, signal);
  await mkdir(target, { recursive: true });
  const dir = realFolder(ctx, target);
  const below = listed.map(({ path, size, mtime }) => {
    const as = from.path === "" ? path : path.slice(from.path.length + 1);
    return { path, as, size, mtime, dir };
  });
  const unwritable = below.flatMap(({ path, as }) => {
    const refusal = whyUnwritable(as);
    return refusal === undefined ? [] : [{ path, ...refusal }];
  });
  const wanted = below.filter(({ as }) => whyUnwritable(as) === undefined);
  const done = await copyAll(ctx, wanted, signal, async (file, tools, signal) => {
    const got = await fetchFile(file, { files, ...tools }, signal);
    return "why" in got ? got : undefined;
  });
  done.left_out.push(...unwritable);
  return done;
}
