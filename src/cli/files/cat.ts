import { Fault } from "../../base/fault.ts";
import { FileNotFound } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { BucketReader, contentOf } from "../transfer/remote-tree.ts";
import { missing, parseBucketPath, shown } from "./location.ts";

/** Writes files of buckets to standard output, one after the other, as they are. */
export async function cat(
  locations: readonly string[],
  options: RemoteOptions,
  ctx: Context,
): Promise<number> {
  const files = locations.map(parseBucketPath);
  const client = await connect(ctx, options);
  for (const at of files) {
    if (at.isFolder) throw new Fault("InvalidInput", `${shown(at)} is a folder; name a file`);
    try {
      for await (const bytes of contentOf(
        new BucketReader(client, at.bucket),
        at.path,
        new AbortController().signal,
      ))
        await ctx.print(bytes);
    } catch (error) {
      throw error instanceof FileNotFound ? await missing(client, at) : error;
    }
  }
  return exitCodes.done;
}
