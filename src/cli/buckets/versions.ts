import { Fault, faultReason } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import {
  bounds,
  InvalidInput,
  type NodeServerClient,
  NotFound,
  type ResultOf,
  RpcError,
} from "../../client/index.ts";
import { command, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { remoteJson, yes } from "../options.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { confirm } from "../terminal/ask.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { countText, numberText, secondText, sizeText } from "../terminal/quantities.ts";
import { sizeCell } from "../terminal/table.ts";
import { type CopyJob, copyFiles, newSummary, reportCopies } from "../transfer/engine.ts";

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
    const copy: CopyJob<Version>["copy"] = async ({ path, version, size }, { meter }) => {
      try {
        await client.call("static-bucket-file_restore", { name: subject.name, path, version });
      } catch (error) {
        if (!(error instanceof RpcError) || !concernsOneFile(error)) throw error;
        return { reason: faultReason(error.data.reason) ?? "refused", why: error.detail };
      }
      meter.add(size);
      return size;
    };
    const job = { what: "restoring", phases: [missing], copy };
    const summary = await copyFiles(ctx, job, newSummary(), signal);
    const { copied: restored, failed } = summary;
    const line = `${subject.name}: ${countText(restored, "file")} restored; ${numberText(existing)} with versions already exist and were not changed`;
    return {
      ...reportCopies(ctx, { verb: "restored", summary, lines: [line] }),
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
  let after: { readonly version: number; readonly path: string } | undefined;
  do {
    const versions = await client.call(
      "static-bucket-file_history",
      { name, path, limit: bounds.maxVersions, files_only: true, after },
      { signal },
    );
    for (const { path, version, size } of versions)
      if (!newest.has(path)) newest.set(path, { path, version, size });
    const last = versions.length < bounds.maxVersions ? undefined : versions.at(-1);
    after = last && { version: last.version, path: last.path };
  } while (after !== undefined);
  const present = await presentPaths(client, { name, path }, signal);
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

/** Whether the other files may still be restored: the path is taken by a folder, locked, or its version was purged meanwhile. */
function concernsOneFile({ kind }: RpcError): boolean {
  return kind === "InvalidInput" || kind === "NotFound" || kind === "Other";
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
  needs: ["static-bucket-file_history", "static-bucket-file_restore"],
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
