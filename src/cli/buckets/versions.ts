import { Fault, faultReason } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import {
  bounds,
  changeMany,
  InvalidInput,
  type NodeServerClient,
  NotFound,
  type ResultOf,
} from "../../client/index.ts";
import { command, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { patternOf } from "../files/location.ts";
import { remoteJson, yes } from "../options.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { confirm } from "../terminal/ask.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { Progress } from "../terminal/progress.ts";
import { countText, numberText, secondText, sizeText } from "../terminal/quantities.ts";
import { sizeCell } from "../terminal/table.ts";
import { reportCopies } from "../transfer/engine.ts";
import { foldersOf } from "../transfer/remote-tree.ts";

type Version = Pick<ResultOf<"static-bucket-file_history">[number], "version" | "path" | "size">;

interface RestoreAllOptions extends RemoteOptions {
  readonly dryRun?: boolean;
}

/** A bucket and a path in it, without a slash at its end; empty for the whole bucket. */
interface Subject {
  readonly name: string;
  readonly path: string;
}

const notice = "interrupted; restored files are complete, and the same command continues from there";

/** Puts back the newest version of every file at or below a path that does not exist now. */
async function restoreAll(
  ctx: Context,
  subject: Subject,
  { dryRun, ...options }: RestoreAllOptions,
): Promise<Outcome | number> {
  const client = await connect(ctx, options);
  return interruptible(ctx, notice, async (signal) => {
    const { missing, existing } = await findMissing(client, subject, signal);
    if (dryRun) {
      const restores = missing.map(({ path, version }) => ({ path, version }));
      return {
        json: { dry_run: true, restores, existing },
        text: missing.map(({ path, version }) => `restore\t${visible(path)}\t${version}\n`).join(""),
        after: [
          `would restore ${countText(missing.length, "file")}; ${numberText(existing)} with versions already exist; nothing was done`,
        ],
      };
    }
    const progress = new Progress(ctx, "restoring");
    const state = (handled: number) => () => `${numberText(handled)} of ${numberText(missing.length)}`;
    const result = await changeMany(
      missing.map(({ path, version }) => ({ path, version })),
      (versions) => client.call("static-bucket-file_restore_many", { name: subject.name, versions }),
      { signal, onProgress: (handled) => progress.update(state(handled), handled / missing.length) },
    );
    progress.clear();
    if (result.left > 0) signal.throwIfAborted();
    if (result.error !== undefined) throw result.error;
    const restored = result.done;
    const failed = result.failed.map(({ path, reason, why }) => ({
      path,
      reason: faultReason(reason) ?? ("refused" as const),
      why,
    }));
    const line = `${subject.name}: ${countText(restored, "file")} restored; ${numberText(existing)} with versions already exist and were not changed`;
    return {
      ...reportCopies(ctx, { verb: "restored", summary: { left_out: [], failed }, lines: [line] }),
      json: { restored, existing, failed },
    };
  });
}

/** The newest version of each file that does not exist now, and the number of those files with versions that do. */
async function findMissing(
  client: NodeServerClient,
  { name, path }: Subject,
  signal: AbortSignal,
): Promise<{ missing: Version[]; existing: number }> {
  const newest = new Map<string, Version>();
  const pattern = /[*?[]/.test(path) ? patternOf({ path, isFolder: false }) : undefined;
  const top = pattern === undefined ? path : path.slice(0, path.search(/[*?[]/)).replace(/\/?[^/]*$/, "");
  const isWanted = (file: string) =>
    pattern === undefined ||
    pattern.matches(file, "file") ||
    [...foldersOf([file])].some((folder) => pattern.matches(folder, "folder"));
  let after: { readonly version: number; readonly path: string } | undefined;
  do {
    const versions = await client.call(
      "static-bucket-file_history",
      { name, path: top, limit: bounds.maxVersions, files_only: true, after },
      { signal },
    );
    for (const { path, version, size } of versions)
      if (!newest.has(path) && isWanted(path)) newest.set(path, { path, version, size });
    const last = versions.length < bounds.maxVersions ? undefined : versions.at(-1);
    after = last && { version: last.version, path: last.path };
  } while (after !== undefined);
  const present = await presentPaths(client, { name, path: top }, signal);
  const missing = [...newest.values()].filter(({ path }) => !present.has(path));
  return { missing, existing: newest.size - missing.length };
}

/** The files that exist at a path and below it. */
async function presentPaths(
  client: NodeServerClient,
  { name, path }: Subject,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  try {
    const listed = await client.call("static-bucket-file_list", { name, path }, { signal });
    return new Set(listed.map(({ path }) => path));
  } catch (error) {
    // Nothing is at the path, or a file; that the bucket exists is known.
    if (error instanceof NotFound) return new Set();
    if (error instanceof InvalidInput) return new Set([path]);
    throw error;
  }
}

/** Lists what was deleted or replaced at a path of a bucket and below it. */
export const history = command({
  name: "history <name> [path]",
  summary: "list deleted and replaced files that can be restored, at a path and below",
  needs: ["static-bucket-file_history"],
  options: remoteJson,
  async run({ name, path, ...options }, ctx) {
    const client = await connect(ctx, options);
    const versions = await client.call("static-bucket-file_history", { name, path });
    return {
      json: versions,
      table: {
        head: ["VERSION", "PATH", "SIZE", "MODIFIED", "REMOVED", "KEPT UNTIL"],
        rows: versions.map(({ version, path, kind, size, mtime, removed_at, kept_until }) => [
          String(version),
          kind === "folder" ? `${path}/` : path,
          kind === "folder" ? "-" : sizeCell(ctx, size),
          secondText(mtime),
          secondText(removed_at),
          secondText(kept_until),
        ]),
      },
    };
  },
});

/** Puts a version back, or with `--all` everything that is missing. */
export const restore = command({
  name: "restore <name> [path] [version]",
  summary: "restore a version of `history`, or with --all every missing file",
  needs: ["static-bucket-file_history", "static-bucket-file_restore", "static-bucket-file_restore_many"],
  options: [
    ...remoteJson,
    ["--to <path>", "restore it to this path (default: its own path)"],
    ["--all", "restore the newest version of every missing file at or below PATH, which may be a pattern"],
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
    ctx.say(`restored ${to ?? from}`);
    return { json: result };
  },
});

/** Purges all versions of a bucket. */
export const purge = command({
  name: "purge <name>",
  summary: "purge everything that `history` lists; it can no longer be restored",
  needs: ["static-bucket-file_retention", "static-bucket-file_purge"],
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
    ctx.say(`${name}: ${countText(result.versions, "version")} purged`);
    return { json: result };
  },
});
