import { Fault } from "../../base/fault.ts";
import { changeMany, type NodeServerClient } from "../../client/index.ts";
import { command, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { remote, yes } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { confirm } from "../terminal/ask.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { Progress } from "../terminal/progress.ts";
import { countText, numberText } from "../terminal/quantities.ts";
import { reportMany } from "../transfer/omitted-file.ts";
import {
  type BucketPath,
  type FoundPath,
  filesBelow,
  findAll,
  parseBucketPath,
  patternNotes,
  shown,
} from "./location.ts";

/**
 * Deletes files, and with `--recursive` folders with all they hold, after a question. `BUCKET/`, with the slash, is everything in a
 * bucket.
 */
export const rm = command({
  name: "rm <places...>",
  summary: "delete files of buckets (BUCKET/PATH)",
  needs: ["files"],
  options: [...remote, ["-r, --recursive", "delete a folder and its content, after a question"], yes],
  notes: `${patternNotes}
\`rm -r BUCKET/\` deletes everything in a bucket. \`node-server buckets history BUCKET\` lists what can be
restored, \`node-server buckets purge BUCKET\` frees its space.`,
  async run({ places: locations, ...options }, ctx) {
    const targets = locations.map((location) => ({
      at: parseBucketPath(location),
      isEmptying: location.endsWith("/"),
    }));
    for (const { at, isEmptying } of targets)
      if (at.path === "" && !(isEmptying && options.recursive))
        throw new WrongUsage(
          `${at.bucket} is a whole bucket: \`node-server rm -r ${at.bucket}/\` deletes everything in it, \`node-server buckets delete ${at.bucket} --files\` the bucket too`,
        );
    const client = await connect(ctx, options);
    let code = 0;
    for (const { at } of targets) {
      const { found, isPattern } = await findAll(client, at);
      const folder = found.find(({ entry }) => entry.folder);
      if (folder !== undefined && !options.recursive)
        throw new Fault(
          "InvalidInput",
          `${shown({ ...at, path: folder.path })} is a folder; add -r to delete it`,
        );
      if (folder !== undefined || isPattern)
        await confirm(ctx, await question(client, at, found, isPattern), options.yes);
      const paths =
        at.path === ""
          ? (await client.bucket(at.bucket).list("")).map(({ name }) => name)
          : found.map(({ path }) => path);
      const done = await interruptible(ctx, "interrupted; what was deleted is in the history", (signal) =>
        remove(ctx, client, { at, paths, isPattern }, signal),
      );
      if (typeof done === "number") return done;
      code ||= done.code ?? 0;
    }
    return code;
  },
});

async function question(
  client: NodeServerClient,
  at: BucketPath,
  found: readonly FoundPath[],
  isPattern: boolean,
): Promise<string> {
  let files = 0;
  for (const { path, entry } of found)
    files += entry.folder ? (await filesBelow(client, { ...at, path })).length : 1;
  const count = countText(files, "file");
  if (isPattern)
    return `This deletes ${count} that ${shown(at)} matches, or that are in a folder that it matches.`;
  return at.path === ""
    ? `This deletes everything in the bucket ${at.bucket}, ${count}.`
    : `This deletes the folder ${shown(at)} with ${count}.`;
}

interface Removal {
  readonly at: BucketPath;
  readonly paths: readonly string[];
  readonly isPattern: boolean;
}

/** Deletes files and folders; the bucket itself stays. */
async function remove(
  ctx: Context,
  client: NodeServerClient,
  { at, paths, isPattern }: Removal,
  signal: AbortSignal,
): Promise<Outcome> {
  const progress = new Progress(ctx, "deleting");
  const state = (handled: number) => () => `${numberText(handled)} of ${numberText(paths.length)}`;
  const result = await changeMany(
    paths,
    (paths) => client.call("static-bucket-file_delete_many", { name: at.bucket, paths }),
    { signal, onProgress: (handled) => progress.update(state(handled), handled / paths.length) },
  );
  progress.clear();
  const what =
    at.path === ""
      ? emptied(at.bucket)
      : isPattern
        ? `deleted ${countText(result.done, "item")} of ${at.bucket}`
        : `deleted ${shown(at)}`;
  const outcome = reportMany(ctx, result, { what, bucket: at.bucket, verb: "deleted" });
  if (result.left > 0) signal.throwIfAborted();
  return outcome;
}

function emptied(bucket: string): string {
  return `deleted everything in ${bucket}; \`node-server buckets history ${bucket}\` lists what can be restored, and \`node-server buckets purge ${bucket}\` frees its space`;
}
