import { Fault } from "../../base/fault.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { confirm } from "../terminal/confirm.ts";
import { countText } from "../terminal/quantities.ts";
import { filesBelow, requireEntry } from "./find.ts";
import { parseBucketPath, shown } from "./location.ts";

export interface RemoveOptions extends RemoteOptions {
  readonly recursive?: boolean;
  readonly yes?: boolean;
}

/** Deletes files, and with `--recursive` folders with all they hold, after a question. */
export async function rm(places: readonly string[], options: RemoveOptions, ctx: Context): Promise<number> {
  const targets = places.map(parseBucketPath);
  const client = await connect(ctx, options);
  for (const at of targets) {
    if (at.path === "")
      throw new Fault(
        "InvalidInput",
        `${at.bucket} is a whole bucket: name its files and folders, or end it with \`node-server buckets delete ${at.bucket}\``,
      );
    const entry = await requireEntry(client, at);
    if (entry.folder) {
      if (!options.recursive)
        throw new Fault("InvalidInput", `${shown(at)} is a folder; -r deletes it with all it holds`);
      const count = (await filesBelow(client, at)).length;
      await confirm(
        ctx,
        `The folder ${shown(at)} is deleted, with ${countText(count, "file")}.`,
        options.yes,
      );
    }
    await client.bucket(at.bucket).remove(at.path);
    ctx.say(`deleted ${shown(at)}`);
  }
  return exitCodes.done;
}
