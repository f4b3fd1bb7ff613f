import type { Context } from "../context.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { type ReportOptions, report } from "../transfer/copy-engine.ts";
import type { SkipOptions } from "../transfer/skip-rules.ts";
import { relocate } from "./between-buckets.ts";
import { download } from "./download.ts";
import { requireEntry } from "./find.ts";
import { isLocal, parseBucketPath, parseLocation, shown } from "./location.ts";
import { upload } from "./upload.ts";

export interface CopyOptions extends RemoteOptions, SkipOptions {
  readonly json?: boolean;
  readonly recursive?: boolean;
  readonly verbose?: boolean;
}

const notice = "interrupted; copied files are complete";

/** Copies a file, or with `--recursive` a folder: from this machine to a bucket, back, or from one path of the server to another. */
export async function cp(from: string, to: string, options: CopyOptions, ctx: Context): Promise<number> {
  const [source, target] = [parseLocation(from), parseLocation(to)];
  if (isLocal(source) && isLocal(target))
    throw new WrongUsage(
      "both are local paths; write a file of a bucket as BUCKET/PATH, such as site/index.html",
    );
  const client = await connect(ctx, options);
  return interruptible(ctx, notice, async (signal) => {
    if (isLocal(source) && !isLocal(target))
      return report(
        ctx,
        await upload(ctx, client, { disk: source.disk, to: target }, options, signal),
        options,
      );
    if (!isLocal(source) && isLocal(target)) {
      if (target.disk === "-") throw new WrongUsage("`node-server cat` writes to standard output");
      return report(
        ctx,
        await download(ctx, client, { from: source, disk: target.disk }, options, signal),
        options,
      );
    }
    const [there, elsewhere] = [parseBucketPath(from), parseBucketPath(to)];
    if ((await requireEntry(client, there)).folder && !options.recursive)
      throw new WrongUsage(`${shown(there)} is a folder; add -r to copy it`);
    return report(
      ctx,
      await relocate(ctx, client, { from: there, to: elsewhere, kind: "copy" }, signal),
      options,
    );
  });
}

/** Moves or renames a file or a folder on the server. */
export async function mv(
  from: string,
  to: string,
  options: RemoteOptions & ReportOptions,
  ctx: Context,
): Promise<number> {
  const [source, target] = [parseBucketPath(from), parseBucketPath(to)];
  const client = await connect(ctx, options);
  return interruptible(ctx, "interrupted; `node-server ls` shows where it is", async (signal) => {
    const done = await relocate(ctx, client, { from: source, to: target, kind: "move" }, signal);
    return report(ctx, done, options, "moved");
  });
}
