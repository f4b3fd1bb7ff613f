import { statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault, faultReason } from "../../base/fault.ts";
import {
  type BucketEntry,
  type BucketFiles,
  changeMany,
  FileDenied,
  type NodeServerClient,
} from "../../client/index.ts";
import { command, type Options, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { countText, sizeText } from "../terminal/quantities.ts";
import {
  type CopyJob,
  type CopySummary,
  copyFiles,
  newSummary,
  reportCopies,
  sizeOf,
} from "../transfer/engine.ts";
import { type Download, fetchFile, whyUnwritable } from "../transfer/fetch.ts";
import { type LocalFile, readLocalTree, realFolder, stampOf } from "../transfer/local-tree.ts";
import { reportSkipped } from "../transfer/omitted-file.ts";
import { relayFiles } from "../transfer/relay.ts";
import { BucketReader, foldersOf } from "../transfer/remote-tree.ts";
import { sendFile } from "../transfer/send.ts";
import { SkipRules, skipOptions } from "../transfer/skip-rules.ts";
import {
  type BucketPath,
  type FoundPath,
  filesBelow,
  findAll,
  isLocal,
  type ListedFile,
  localName,
  missing,
  nameOf,
  parseBucketPath,
  parseLocation,
  pathIn,
  patternNotes,
  requireEntry,
  shown,
} from "./location.ts";

const copyOptions = [
  ...remoteJson,
  ["-r, --recursive", "copy a folder and its content"],
  ...skipOptions,
] as const;
type CopyOptions = Options<typeof copyOptions>;

const notice = "interrupted; copied files are complete";

/** Copies a file, or with `--recursive` a folder: from this machine to a bucket, back, or from one path of the server to another. */
export const cp = command({
  name: "cp <from> <to>",
  summary: "copy a file or a folder: to a bucket, from one, or between buckets",
  needs: ["files"],
  options: copyOptions,
  notes: `
Write a file of a bucket as BUCKET/PATH, such as site/index.html. A local path begins with /, ./ or ../; - is standard input.
If TO is an existing folder or ends with a slash, the copy goes into it under its own name.
Missing folders are created. Existing files are replaced. In a local folder, the skip rules of push apply.
A copy to this machine needs only to read and list files, and a copy from it only to write them: without a slash at its end, TO is then the file itself.
${patternNotes} Then TO is a folder: of this machine,
or of the same bucket, where nothing is replaced.`,
  async run({ from, to, ...options }, ctx) {
    const [source, target] = [parseLocation(from), parseLocation(to)];
    if (isLocal(source) && isLocal(target))
      throw new WrongUsage(
        "both are local paths; write a file of a bucket as BUCKET/PATH, such as site/index.html",
      );
    const client = await connect(ctx, options);
    return interruptible(ctx, notice, async (signal) => {
      const copy = async () => {
        if (isLocal(source) && !isLocal(target))
          return upload(ctx, client, { disk: source.disk, to: target }, options, signal);
        if (!isLocal(source) && isLocal(target))
          return download(ctx, client, { from: source, disk: target.disk }, options, signal);
        const [there, elsewhere] = [parseBucketPath(from), parseBucketPath(to)];
        const all = await findAll(client, there);
        const folder = all.found.find(({ entry }) => entry.folder);
        if (folder !== undefined && !options.recursive)
          throw new WrongUsage(`${shown({ ...there, path: folder.path })} is a folder; add -r to copy it`);
        return all.isPattern
          ? relocateMany(client, { from: there, found: all.found, to: elsewhere, kind: "copy" }, signal)
          : relocate(ctx, client, { from: there, to: elsewhere, kind: "copy" }, signal);
      };
      return report(ctx, await copy(), "copied");
    });
  },
});

/** Moves or renames a file or a folder on the server. */
export const mv = command({
  name: "mv <from> <to>",
  summary: "move or rename a file or a folder of a bucket",
  needs: ["files"],
  options: remoteJson,
  notes: `
If TO is an existing folder or ends with a slash, it goes there under its own name.
Missing folders are created. An existing file is replaced, a folder never.
${patternNotes} Then TO is a folder, and nothing in it is replaced.`,
  async run({ from, to, ...options }, ctx) {
    const [source, target] = [parseBucketPath(from), parseBucketPath(to)];
    const client = await connect(ctx, options);
    return interruptible(ctx, "interrupted; `node-server ls` shows where it is", async (signal) => {
      const all = await findAll(client, source);
      const done = all.isPattern
        ? await relocateMany(client, { from: source, found: all.found, to: target, kind: "move" }, signal)
        : await relocate(ctx, client, { from: source, to: target, kind: "move" }, signal);
      return report(ctx, done, "moved");
    });
  },
});

function report(ctx: Context, summary: CopySummary, verb: string): Outcome {
  const line = `${countText(summary.copied, "file")} ${verb} (${sizeText(summary.bytes)})`;
  return reportCopies(ctx, { verb: "copied", summary, lines: [line] });
}

/** Uploads a file, or a folder with what is in it, or with `-` standard input. */
async function upload(
  ctx: Context,
  client: NodeServerClient,
  { disk, to }: { readonly disk: string; readonly to: BucketPath },
  options: CopyOptions,
  signal: AbortSignal,
): Promise<CopySummary> {
  const files = client.bucket(to.bucket);
  const writeOnly = await isWriteOnly(client, to);
  if (disk === "-") return uploadInput(ctx, files, { to, writeOnly, signal });
  const copy: CopyJob<LocalFile>["copy"] = async (file, tools, signal) => {
    const sent = await sendFile(file, { files, writeOnly, ...tools }, signal);
    // A file that was named and is gone was not copied.
    return "why" in sent ? { ...sent, harmless: false } : sent.stamp.size;
  };
  const copyAll = (local: readonly LocalFile[], paths: Iterable<string>) =>
    copyFiles(
      ctx,
      { what: "copying", phases: [local], ...(writeOnly ? {} : { folders: { of: files, paths } }), copy },
      newSummary(),
      signal,
    );
  const at = ctx.path(disk);
  const stats = statSync(at);
  if (!stats.isDirectory()) {
    const path = await pathFor(client, to, localName(ctx, disk), writeOnly);
    return copyAll([{ path, disk: at, size: stats.size, stamp: stampOf(stats) }], foldersOf([path]));
  }
  if (!options.recursive) throw new Fault("InvalidInput", `${disk} is a folder; add -r to copy it`);
  const real = realFolder(ctx, disk);
  const tree = readLocalTree(real, SkipRules.read(real, options));
  reportSkipped(ctx, tree.skipped, options);
  const top = await pathFor(client, to, localName(ctx, disk), writeOnly);
  const moved = [...tree.files.values()].map((file) => ({ ...file, path: pathIn(top, file.path) }));
  const done = await copyAll(
    moved,
    ["", ...tree.folders].map((folder) => pathIn(top, folder)),
  );
  done.left_out.push(...tree.omitted);
  return done;
}

/**
 * The path of a copy: with the name of its source in a folder that exists, or that is named with a slash at its end; else the
 * path itself.
 */
async function pathFor(
  client: NodeServerClient,
  to: BucketPath,
  name: string,
  writeOnly = false,
): Promise<string> {
  if (writeOnly) return to.isFolder || to.path === "" ? pathIn(to.path, name) : to.path;
  const entry = await client.bucket(to.bucket).find(to.path);
  if (entry === undefined && to.path === "") throw await missing(client, to);
  return entry?.folder || to.isFolder ? pathIn(to.path, name) : to.path;
}

/** isWriteOnly returns whether the token may write files of the bucket without WebDAV, which takes all four actions. */
async function isWriteOnly(client: NodeServerClient, { bucket }: BucketPath): Promise<boolean> {
  try {
    await client.bucket(bucket).find("");
    return false;
  } catch (error) {
    if (!(error instanceof FileDenied) || error.status !== 403) throw error;
    const { allowed } = await client.call("token_explain", {
      permission: { static_bucket_file: "write" },
      scope: { static_bucket: bucket },
    });
    if (!allowed) throw error;
    return true;
  }
}

async function uploadInput(
  ctx: Context,
  files: BucketFiles,
  {
    to,
    writeOnly,
    signal,
  }: { readonly to: BucketPath; readonly writeOnly: boolean; readonly signal: AbortSignal },
): Promise<CopySummary> {
  if (to.isFolder)
    throw new Fault("InvalidInput", `${shown(to)} is a folder; name the file that standard input becomes`);
  let bytes = 0;
  await files.upload(to.path, ctx.input(), {
    makeFolders: true,
    writeOnly,
    signal,
    onProgress: (sent) => {
      bytes = sent;
    },
  });
  return { ...newSummary(), copied: 1, bytes };
}

/** Downloads a file, or with `recursive` a folder with every file in it. */
async function download(
  ctx: Context,
  client: NodeServerClient,
  { from, disk }: { readonly from: BucketPath; readonly disk: string },
  { recursive }: { readonly recursive?: boolean },
  signal: AbortSignal,
): Promise<CopySummary> {
  if (disk === "-") throw new WrongUsage("`node-server cat` writes to standard output");
  const all = await findAll(client, from);
  const folderFound = all.found.find(({ entry }) => entry.folder);
  if (folderFound !== undefined && !recursive)
    throw new Fault(
      "InvalidInput",
      `${shown({ ...from, path: folderFound.path })} is a folder; add -r to copy it`,
    );
  const isFolder = all.isPattern || folderFound !== undefined;
  const isInside =
    disk.endsWith("/") || statSync(ctx.path(disk), { throwIfNoEntry: false })?.isDirectory() === true;
  if (all.isPattern && !isInside)
    throw new WrongUsage(`${disk} is not a folder; add a slash at its end to make it one`);
  const name = nameOf(from);
  if (isInside && !all.isPattern && whyUnwritable(name) !== undefined && name !== "")
    throw new Fault("InvalidInput", `${shown(from)} cannot be written under this name; name the file here`);
  const target = ctx.path(isInside && !all.isPattern ? join(disk, name) : disk);
  // A file that was named is written under any name.
  const folder = isFolder ? target : dirname(target);
  const found: Download[] = [];
  await mkdir(folder, { recursive: true });
  const dir = realFolder(ctx, folder);
  for (const { path: top, entry } of all.found) {
    const listed = entry.folder
      ? await filesBelow(client, { ...from, path: top }, signal)
      : [fileOf({ ...from, path: top }, entry)];
    // What a pattern matches keeps its own name.
    const base = all.isPattern ? top.slice(0, Math.max(0, top.lastIndexOf("/"))) : top;
    for (const { path, size, mtime } of listed) {
      const inside = base === "" ? path : path.slice(base.length + 1);
      found.push({ path, as: isFolder ? inside : basename(target), size, mtime, dir });
    }
  }
  const refusalOf = ({ path, as = path }: Download) => (isFolder ? whyUnwritable(as) : undefined);
  const wanted = found.filter((file) => refusalOf(file) === undefined);
  const files = new BucketReader(client, from.bucket);
  const copy: CopyJob<Download>["copy"] = async (file, tools, signal) => {
    const got = await fetchFile(file, { files, ...tools }, signal);
    return "why" in got ? got : file.size;
  };
  const done = await copyFiles(ctx, { what: "copying", phases: [wanted], copy }, newSummary(), signal);
  for (const file of found) {
    const refusal = refusalOf(file);
    if (refusal !== undefined) done.left_out.push({ path: file.path, ...refusal });
  }
  return done;
}

/** Relocation is a copy or a move from one path of the server to another. */
interface Relocation {
  readonly from: BucketPath;
  readonly to: BucketPath;
  readonly kind: "copy" | "move";
}

/**
 * Copies or moves a file or a folder on the server: within a bucket in one step there. A copy from one bucket to another goes
 * through this machine.
 */
async function relocate(
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
  const overwrite = await mayReplace(client, entry, { bucket: to.bucket, path, isFolder: false });
  const files = entry.folder ? await filesBelow(client, from, signal) : [fileOf(from, entry)];
  if (from.bucket !== to.bucket) {
    const pathOf = (below: string) => pathIn(path, below.slice(from.path.length).replace(/^\//, ""));
    const [source, target] = [
      { client, bucket: from.bucket },
      { client, bucket: to.bucket },
    ];
    return relayFiles(ctx, { from: source, to: target, files, pathOf }, signal);
  }
  const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  await client.bucket(to.bucket).makeFolder(parent, { signal });
  await client.bucket(from.bucket)[kind](from.path, path, { overwrite, signal });
  return { ...newSummary(), copied: files.length, bytes: sizeOf(files) };
}

/** Copies or moves all that a pattern matches into a folder of its bucket, each under its own name. Replaces nothing. */
async function relocateMany(
  client: NodeServerClient,
  { from, found, to, kind }: Relocation & { readonly found: readonly FoundPath[] },
  signal: AbortSignal,
): Promise<CopySummary> {
  if (from.bucket !== to.bucket)
    throw new WrongUsage("a pattern works inside one bucket; name a file or a folder to copy it to another");
  const folder = await client.bucket(to.bucket).find(to.path);
  if (!to.isFolder && !folder?.folder)
    throw new WrongUsage(`${shown(to)} is not a folder; add a slash at its end to make it one`);
  const pairs = found.map(({ path }) => ({
    from: path,
    to: pathIn(to.path, path.slice(path.lastIndexOf("/") + 1)),
  }));
  const { bucket: name } = from;
  const { done, failed, left, error } = await changeMany(
    pairs,
    (some) =>
      kind === "move"
        ? client.call("static-bucket-file_move_many", { name, moves: some })
        : client.call("static-bucket-file_copy_many", { name, copies: some }),
    { signal },
  );
  if (error !== undefined) throw error;
  if (left > 0) signal.throwIfAborted();
  return {
    ...newSummary(),
    copied: done,
    bytes: found.reduce((sum, { entry }) => sum + (entry.size ?? 0), 0),
    failed: failed.map(({ path, reason, why }) => ({
      path,
      reason: faultReason(reason) ?? ("refused" as const),
      why,
    })),
  };
}

function fileOf({ path }: BucketPath, { size = 0, modified }: BucketEntry): ListedFile {
  return { path, size, mtime: modified.getTime() };
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
