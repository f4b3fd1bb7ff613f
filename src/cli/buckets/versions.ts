import { Fault } from "../../base/fault.ts";
import { InvalidInput } from "../../client/index.ts";
import { command, exitCodes } from "../command.ts";
import { remoteJson, yes } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { columns, sizeCell } from "../terminal/columns.ts";
import { confirm } from "../terminal/confirm.ts";
import { countText, secondText, sizeText } from "../terminal/quantities.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { restoreAll } from "./restore-all.ts";

/** Lists what was deleted or replaced at a path of a bucket and below it. */
export const history = command({
  name: "history <name> [path]",
  summary: "list deleted and replaced files that can be restored, at a path and below",
  options: remoteJson,
  async run({ name, path, ...options }, ctx) {
    const client = await connect(ctx, options);
    const versions = await client.call("static-bucket-file_history", { name, path });
    if (options.json) await ctx.print(`${JSON.stringify(versions, null, 2)}\n`);
    else
      await ctx.print(
        columns(
          ctx,
          ["VERSION", "PATH", "SIZE", "MODIFIED", "REMOVED", "KEPT UNTIL"],
          versions.map(({ version, path, kind, size, mtime, removed_at, kept_until }) => [
            String(version),
            kind === "folder" ? `${path}/` : path,
            kind === "folder" ? "-" : sizeCell(ctx, size),
            secondText(mtime),
            secondText(removed_at),
            secondText(kept_until),
          ]),
        ),
      );
    return exitCodes.done;
  },
});

/** Puts a version back, or with `--all` everything that is missing. */
export const restore = command({
  name: "restore <name> [path] [version]",
  summary: "restore a version of `history`, or with --all every missing file",
  options: [
    ...remoteJson,
    ["--to <path>", "restore it to this path (default: its own path)"],
    ["--all", "restore the newest version of every missing file at or below PATH"],
    ["--dry-run", "with --all: list the files and change nothing"],
  ],
  async run({ name, path, version: number, to, ...options }, ctx) {
    // `history` shows folders with a slash.
    const from = path?.replace(/\/$/, "") ?? "";
    if (options.all) {
      if (number !== undefined || to !== undefined)
        throw new WrongUsage(
          "--all takes no VERSION and no --to; it restores every missing file at its own path",
        );
      return restoreAll(ctx, { name, path: from }, options);
    }
    if (options.dryRun) throw new WrongUsage("--dry-run needs --all");
    const version = Number(number);
    if (!Number.isSafeInteger(version) || version < 1)
      throw new WrongUsage(
        "give PATH and VERSION, a number of `buckets history` such as 4711, or --all for every missing file",
      );
    const client = await connect(ctx, options);
    const result = await client
      .call("static-bucket-file_restore", { name, path: from, version, to })
      .catch((error: unknown) => {
        // Something is at the path.
        if (!(error instanceof InvalidInput) || error.data.path !== (to ?? from)) throw error;
        throw new Fault(
          "InvalidInput",
          `${error.detail}; restore it elsewhere with --to PATH, or only the missing files with --all and no version`,
        );
      });
    if (options.json) await ctx.print(`${JSON.stringify(result)}\n`);
    else ctx.say(`restored ${to ?? from}`);
    return exitCodes.done;
  },
});

/** Purges all versions of a bucket. */
export const purge = command({
  name: "purge <name>",
  summary: "purge everything that `history` lists; it can no longer be restored",
  options: [...remoteJson, yes],
  async run({ name, ...options }, ctx) {
    const client = await connect(ctx, options);
    const retention = await client.call("static-bucket-file_retention", { name, measure: true });
    await confirm(
      ctx,
      `${countText(retention.versions ?? 0, "version")} of deleted and replaced files of ${name} (${sizeText(retention.bytes ?? 0)}) will be purged and can no longer be restored. The current files stay.`,
      options.yes,
    );
    const result = await client.call("static-bucket-file_purge", { name });
    if (options.json) await ctx.print(`${JSON.stringify(result)}\n`);
    else ctx.say(`${name}: ${countText(result.versions, "version")} purged`);
    return exitCodes.done;
  },
});
