import { shownDatabase } from "../../base/database-url.ts";
import { openBlobs, proveBlobs } from "../../blobs/open-blobs.ts";
import { type BlobReport, type BrokenFile, checkBlobs } from "../../buckets/maintenance/check-blobs.ts";
import { checkContent } from "../../buckets/maintenance/copy-blobs.ts";
import { assertOwner, claimDisk, claimStore } from "../../buckets/maintenance/store-identity.ts";
import { deleteOrphans } from "../../buckets/maintenance/sweep.ts";
import { overriddenKeys } from "../../config/environment.ts";
import { formatProblem } from "../../config/problem.ts";
import type { Config } from "../../config/schema.ts";
import { type DatabaseState, probeDatabase } from "../../db/probe.ts";
import type { FileOfBlob } from "../../db/rows/store-rows.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectCertificate, preflight, proveFiles, proveKeys } from "../../preflight.ts";
import { refuseRunning } from "../backup/refuse.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { Progress } from "../terminal/progress.ts";
import { countText, sizeText } from "../terminal/quantities.ts";
import { printTable } from "../terminal/table.ts";
import { loadGivenConfig, withDatabase } from "./open.ts";

const states: Readonly<Record<DatabaseState, string>> = {
  missing: "does not exist yet; the first start creates it",
  empty: "is empty; the first start fills it",
  ready: "can be used",
};

export interface CheckOptions extends CommandOptions {
  readonly connect?: boolean;
  readonly files?: boolean;
  readonly repair?: boolean;
  readonly claim?: boolean;
  readonly content?: boolean;
  readonly json?: boolean;
}

/** Reads a configuration as `serve` would, opens what it names, and changes nothing but what `--repair` and `--claim` ask for. */
export function check(options: CheckOptions, ctx: Context): Promise<number> {
  const {
    files = false,
    repair = false,
    claim = false,
    content = false,
    json = false,
    config: path,
  } = options;
  if (!files && (repair || claim || content || json))
    throw new WrongUsage("--repair, --claim, --content and --json need --files");
  return interruptible(ctx, "ended", async (signal) => {
    const config = await checkConfig(ctx, { ...options, isQuiet: json });
    if (!files) return exitCodes.done;
    return checkFiles(ctx, { config, configPath: path, repair, claim, content, json, signal });
  });
}

async function checkConfig(
  ctx: Context,
  { config: path, connect, isQuiet }: CheckOptions & { readonly isQuiet: boolean },
): Promise<Config> {
  const { config, warnings, overrides } = await loadGivenConfig(ctx, path, {
    inspect: preflight(ctx.path(path), (config) => inspectCertificate(config, ctx.clock.now())),
  });
  for (const warning of warnings) ctx.say(`warning: ${formatProblem(warning)}`);
  if (connect) {
    const probed = await probeDatabase(config.database, new LogHub());
    const store = await proveFiles(config, probed);
    proveKeys(config, probed.sealedKeys);
    if (!isQuiet) {
      await ctx.print(
        `The database ${shownDatabase(config.database.database_url)} ${states[probed.state]}.\n`,
      );
      if (store !== undefined) await ctx.print(`The store ${store} can be used.\n`);
    }
  }
  if (isQuiet) return config;
  for (const { key, from } of overriddenKeys(overrides, config, ctx.env))
    await ctx.print(`${key} has the value of ${from}.\n`);
  await ctx.print(`${path} is a valid configuration.\n`);
  return config;
}

interface CheckFilesOptions {
  readonly config: Config;
  readonly configPath: string;
  /** Whether blobs that nothing names are deleted. */
  readonly repair: boolean;
  /** Whether this database becomes the owner of the store first. */
  readonly claim: boolean;
  /** Whether all content is read and compared by its SHA-256. */
  readonly content: boolean;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/** Compares the store of the files with the database, beside a running server; but no server may run for a claim. */
async function checkFiles(ctx: Context, options: CheckFilesOptions): Promise<number> {
  const { config, configPath, repair, claim, content, json, signal } = options;
  const { url } = config.files;
  // The other nodes would be refused at their next start.
  if (claim) await refuseRunning(ctx, { config, path: configPath });
  if (url === undefined) {
    if (claim) {
      await withDatabase(ctx, config, { create: false, configPath }, ({ storeIdentity }) =>
        claimDisk(storeIdentity),
      );
      ctx.say("The files of this database are plain files below static_path now.");
    }
    if (json) await ctx.printJson({ store: "disk" });
    else
      ctx.say(
        "The files are plain files below static_path, which the database does not list: there is nothing to compare.",
      );
    return exitCodes.done;
  }
  const blobs = openBlobs({ ...config.files, url }, { sync: config.sync_uploads });
  return withDatabase(
    ctx,
    config,
    { create: false, configPath },
    async ({ removed: rows, storeIdentity }) => {
      if (claim) {
        await proveBlobs(blobs, signal);
        await claimStore(storeIdentity, blobs, { url, keepDays: config.keep_removed_days });
        ctx.say(`This database is the owner of ${url} now.`);
      }
      if (repair) await assertOwner(storeIdentity, blobs);
      const line = new Progress(ctx, "checking");
      let report: BlobReport;
      let deleted = 0;
      let damaged: readonly FileOfBlob[] = [];
      try {
        report = await checkBlobs({
          rows,
          blobs,
          signal,
          progress: (count) => line.update(() => countText(count, "blob")),
        });
        if (content)
          damaged = withoutBroken(
            await checkContent({
              rows,
              blobs,
              signal,
              progress: (bytes) => line.update(() => `${sizeText(bytes)} of ${sizeText(report.bytes)}`),
            }),
            report,
          );
        // It looks again at all names, and by itself.
        if (repair && report.orphans.count > 0) {
          line.update(() => "deleting orphans");
          ({ deletedBlobs: deleted } = await deleteOrphans({ rows, blobs, signal, isConfirmed: true }));
        }
      } finally {
        line.clear();
      }
      if (json)
        await ctx.printJson(toJson(url, { ...report, damaged: content ? damaged : undefined, deleted }));
      else await show(ctx, { ...report, damaged, deleted }, { repair, content });
      const hasOrphans = report.orphans.count > 0 && !repair;
      return report.broken.length + damaged.length > 0 || hasOrphans ? exitCodes.failed : exitCodes.done;
    },
  );
}

/** A blob of another size is reported as that. */
function withoutBroken(damaged: readonly FileOfBlob[], { broken }: BlobReport): readonly FileOfBlob[] {
  const known = new Set(broken.map(({ blob }) => blob));
  return damaged.filter(({ blob }) => !known.has(blob));
}

interface Findings extends BlobReport {
  /** Files whose content has the right size and is not what was uploaded; undefined if it was not read. */
  readonly damaged: readonly FileOfBlob[] | undefined;
  readonly deleted: number;
}

async function show(
  ctx: Context,
  { blobs, bytes, orphans, recent, broken, damaged = [], deleted }: Findings,
  { repair, content }: { readonly repair: boolean; readonly content: boolean },
): Promise<void> {
  const bad = broken.length + damaged.length;
  await printTable(ctx, {
    head: ["PROBLEM", "FILE", "SIZE", "BLOB"],
    rows: [
      ...broken.map((file) => [problemOf(file), locationOf(file), String(file.size), file.blob]),
      ...damaged.map((file) => [removedNote("damaged", file), locationOf(file), "-", file.blob]),
    ],
  });
  ctx.say(`The store has ${countText(blobs, "blob")} (${sizeText(bytes)}).`);
  if (bad > 0)
    ctx.say(
      `${countText(bad, "file")} ${bad === 1 ? "has" : "have"} missing or wrong content: restore it from a backup of the store, or upload the files again.`,
    );
  if (repair) ctx.say(`${countText(deleted, "unreferenced blob")} deleted.`);
  else if (orphans.count > 0)
    ctx.say(
      `${countText(orphans.count, "blob")} (${sizeText(orphans.bytes)}) ${orphans.count === 1 ? "is" : "are"} unreferenced. The server deletes unreferenced blobs once a day; --repair deletes them now.`,
    );
  if (recent > 0)
    ctx.say(
      `${countText(recent, "blob")} of the last 24 hours ${recent === 1 ? "has" : "have"} no file yet, because of an upload or a migration. The server deletes unreferenced blobs after 24 hours.`,
    );
  if (bad === 0 && (orphans.count === 0 || repair))
    ctx.say(content ? "Every file has its content, with the right SHA-256." : "Every file has its content.");
}

function problemOf(file: BrokenFile): string {
  const { storedSize } = file;
  return removedNote(storedSize === undefined ? "missing" : `has ${storedSize} bytes`, file);
}

function removedNote(what: string, { isRemoved }: Pick<BrokenFile, "isRemoved">): string {
  return isRemoved ? `${what} (deleted file)` : what;
}

function locationOf({ location }: Pick<BrokenFile, "location">): string {
  return location === undefined ? "-" : `${location.bucket}/${location.path}`;
}

/** The report in the names of the product's other JSON. */
function toJson(url: string, { blobs, bytes, orphans, recent, broken, damaged, deleted }: Findings) {
  const files = broken.map(({ location, isRemoved, blob, size, storedSize }) => ({
    bucket_path: location?.bucket ?? null,
    path: location?.path ?? null,
    removed: isRemoved,
    blob,
    size,
    ...(storedSize !== undefined && { stored_size: storedSize }),
  }));
  return {
    store: url,
    blobs,
    bytes,
    orphans: orphans.count,
    orphan_bytes: orphans.bytes,
    recent,
    deleted,
    missing: files.filter((file) => !("stored_size" in file)),
    wrong_size: files.filter((file) => "stored_size" in file),
    ...(damaged !== undefined && {
      damaged: damaged.map(({ location, isRemoved, blob }) => ({
        bucket_path: location?.bucket ?? null,
        path: location?.path ?? null,
        removed: isRemoved,
        blob,
      })),
    }),
  };
}
