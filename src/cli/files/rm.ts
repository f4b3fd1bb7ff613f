import { Fault } from "../../base/fault.ts";
import type { NodeServerClient } from "../../client/index.ts";
import { command } from "../command.ts";
import { WrongUsage } from "../errors.ts";
import { remote, yes } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { confirm } from "../terminal/ask.ts";
import { countText } from "../terminal/quantities.ts";
import { type BucketPath, filesBelow, parseBucketPath, requireEntry, shown } from "./location.ts";

/**
 * Deletes files, and with `--recursive` folders with all they hold, after a question. `BUCKET/`, with the slash, is everything in a
 * bucket.
 */
export const rm = command({
  name: "rm <places...>",
  summary: "delete files of buckets (BUCKET/PATH)",
  needs: ["files"],
  options: [...remote, ["-r, --recursive", "delete a folder and its content, after a question"], yes],
  notes:
    "\n`rm -r BUCKET/` deletes everything in a bucket. `node-server buckets history BUCKET` lists what can be\nrestored, `node-server buckets purge BUCKET` frees its space.",
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
    for (const { at } of targets) {
      const entry = await requireEntry(client, at);
      if (entry.folder) {
        if (!options.recursive)
          throw new Fault("InvalidInput", `${shown(at)} is a folder; add -r to delete it`);
        const count = countText((await filesBelow(client, at)).length, "file");
        const what =
          at.path === ""
            ? `This deletes everything in the bucket ${at.bucket}, ${count}.`
            : `This deletes the folder ${shown(at)} with ${count}.`;
        await confirm(ctx, what, options.yes);
      }
      await remove(client, at);
      ctx.say(at.path === "" ? emptied(at.bucket) : `deleted ${shown(at)}`);
    }
    return undefined;
  },
});

/** `remove` deletes a file or a folder, or what is in a bucket: the bucket itself stays. */
async function remove(client: NodeServerClient, { bucket, path }: BucketPath): Promise<void> {
  const files = client.bucket(bucket);
  if (path !== "") return files.remove(path);
  for (const { name } of await files.list("")) await files.remove(name);
}

function emptied(bucket: string): string {
  return `deleted everything in ${bucket}; \`node-server buckets history ${bucket}\` lists what can be restored, and \`node-server buckets purge ${bucket}\` frees its space`;
}
