import { Fault } from "../../base/fault.ts";
import { FileNotFound } from "../../client/index.ts";
import { command } from "../command.ts";
import { remote } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { BucketReader, contentOf } from "../transfer/remote-tree.ts";
import { missing, parseBucketPath, shown } from "./location.ts";

/** Writes files of buckets to standard output, one after the other, as they are. */
export const cat = command({
  name: "cat <files...>",
  summary: "print files of buckets (BUCKET/PATH), as they are",
  needs: ["static-bucket-file_read"],
  options: remote,
  async run({ files: locations, ...options }, ctx) {
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
    return undefined;
  },
});
