import { stat } from "node:fs/promises";
import { type CopyFilesReport, copyFiles, type NotMoved } from "../../backup/copy-files.ts";
import { Fault } from "../../base/fault.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import { blobKinds, findKind, kindOf } from "../../blobs/open-blobs.ts";
import { replaceUrl } from "../../config/config-file.ts";
import { readConfigFile } from "../../config/default-config.ts";
import { readOverrides } from "../../config/environment.ts";
import type { Config } from "../../config/schema.ts";
import type { DatabaseSettings } from "../../db/database.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectMovedDatabase } from "../../preflight.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { loadGivenConfig, noUuid, readConfig, uuidOf } from "../server/open.ts";
import { type Meter, openMeter } from "../terminal/progress.ts";
import { countText } from "../terminal/quantities.ts";
import { refuseRunning } from "./refuse.ts";

/** `writeUrl` writes the URL of a table's key into a configuration file, or removes it. Owner, permissions and comments stay. */
export async function writeUrl(
  path: string,
  key: readonly [table: string, key: string],
  url: string | undefined,
): Promise<void> {
  const text = replaceUrl(await readConfigFile(path), key, url);
  const { mode, uid, gid } = await stat(path);
  await replaceFile(path, text, { mode, uid, gid });
}

/** The target that stands for plain files below `static_path`. */
const disk = "disk";
/** Problems that are printed one by one. */
const maxShown = 20;

export interface MigrateFilesOptions {
  /** The configuration file. */
  readonly path: string;
  /** `disk`, or what `[files] url` will be. */
  readonly target: string;
  readonly deletesOthers: boolean;
  readonly writesConfig: boolean;
  /** The database with the rows of the files; that of the configuration unless it was just copied. */
  readonly database?: DatabaseSettings;
}

/** Throws if the target is not a store of files that this configuration can use. */
export async function checkFilesTarget(ctx: Context, { path, target }: MigrateFilesOptions): Promise<void> {
  await newStore(ctx, path, target);
}

/** Copies the files of all buckets into another store. */
export async function migrateFiles(
  ctx: Context,
  signal: AbortSignal,
  options: MigrateFilesOptions,
): Promise<number> {
  const { path, deletesOthers } = options;
  const { config, changed, from, into } = await newStore(ctx, path, options.target);
  // A server that writes on would not be in the copy.
  await refuseRunning(ctx, { config, path });
  const { database = config.database } = options;
  let meter: Meter | undefined;
  let report: CopyFilesReport;
  try {
    report = await copyFiles({
      database,
      staticPath: config.static_path,
      serverUuid: (await uuidOf(config, ctx.path(path))) ?? noUuid,
      from: config.files,
      to: changed.files,
      keepRemovedDays: changed.keep_removed_days,
      deletesOthers,
      hub: new LogHub(),
      signal,
      begin({ notMoved, ...load }) {
        if (notMoved !== undefined) noteNotMoved(ctx, notMoved);
        meter = openMeter(ctx, "copying", load, { showsRate: true });
        return meter;
      },
    });
  } finally {
    meter?.end();
  }
  if (!isCopied(ctx, report, { from, into })) return exitCodes.failed;
  await reportNextStep(ctx, changed.files, { ...options, from });
  return exitCodes.done;
}

function noteNotMoved(ctx: Context, { earlierDeploys, newDeploys, versions }: NotMoved): void {
  const notMoved = [
    ...(earlierDeploys > 0 ? [countText(earlierDeploys, "earlier deploy")] : []),
    ...(newDeploys > 0 ? [countText(newDeploys, "unpublished deploy")] : []),
    ...(versions > 0 ? [`${countText(versions, "deleted or replaced file")} that could be restored`] : []),
  ];
  if (notMoved.length > 0) ctx.say(`note: not moved: ${notMoved.join(", ")}`);
}

/** The configuration, and as it would be with the target; both stores also as they are shown. */
async function newStore(ctx: Context, path: string, target: string) {
  const config = await readConfig(ctx, path, inspectMovedDatabase);
  const changed = await withTarget(ctx, path, config, target);
  const [from, into] = [shown(config.files.url), shown(changed.files.url)];
  if (from === into) throw new WrongUsage(`the files are already in ${into}`);
  return { config, changed, from, into };
}

/** The configuration with another `url`, checked as if that stood there. */
async function withTarget(ctx: Context, path: string, config: Config, target: string): Promise<Config> {
  if (target === disk) return { ...config, files: { ...config.files, url: undefined } };
  assertTarget(target);
  const { values, ...rest } = readOverrides(ctx.env);
  const url = { path: ["files", "url"], from: "--files", value: target };
  const others = values.filter((override) => override.path.join(".") !== "files.url");
  const { config: changed } = await loadGivenConfig(ctx, path, {
    inspect: inspectMovedDatabase,
    overrides: { ...rest, values: [...others, url] },
  });
  return changed;
}

/** A target that is mistyped is not a problem of the configuration. */
function assertTarget(target: string): void {
  try {
    kindOf(target);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const detail = findKind(target) !== undefined ? `; the URL ${error.detail}` : "";
    throw new WrongUsage(
      `--files is not a file store: write disk (plain files below static_path), ${blobKinds.map(({ form }) => form).join(" or ")}${detail}`,
    );
  }
}

function shown(url: string | undefined): string {
  return url ?? "plain files below static_path";
}

/** Names the files whose content was lost before: that is not a failure of the copy, and repeating it would not help. */
function reportLost(ctx: Context, lost: CopyFilesReport["lost"], from: string): void {
  for (const { blob, location, isRemoved } of lost.slice(0, maxShown)) {
    const file = location === undefined ? `blob ${blob}` : `${location.bucket}/${location.path}`;
    ctx.say(
      `note: not copied: ${file}${isRemoved ? " (deleted file)" : ""}: its content is missing in ${from}, too`,
    );
  }
  if (lost.length > 0)
    ctx.say(
      `note: the content of ${countText(lost.length, "file")} was already missing; restore it from a backup, or upload it again.`,
    );
}

/** Says which settings of the store came from this environment: the server may be started in another one. */
function reportVariables(ctx: Context, files: Config["files"]): void {
  const used = Object.entries(findKind(files.url)?.variables ?? {}).filter(
    ([variable, key]) => ctx.env[variable] && ctx.env[variable] === (files as Record<string, unknown>)[key],
  );
  if (used.length === 0) return;
  const names = (which: 0 | 1) => used.map((pair) => pair[which]).join(", ");
  ctx.say(
    `note: ${names(0)} ${used.length === 1 ? "was" : "were"} taken from this environment. The server needs the same where it is started, or write ${names(1)} below [files].`,
  );
}

/** Prints what was copied, and returns whether that is everything. */
function isCopied(
  ctx: Context,
  { buckets, copied, unchanged, others, failures, lost, forgotten }: CopyFilesReport,
  { from, into }: { readonly from: string; readonly into: string },
): boolean {
  for (const { what, why } of failures.slice(0, maxShown)) ctx.say(`not copied: ${what}: ${why}`);
  reportLost(ctx, lost, from);
  for (const name of others.slice(0, maxShown)) ctx.say(`only in ${into}: ${name}`);
  const what = buckets === undefined ? "blob" : "file";
  const sum = `${countText(copied, what)} copied to ${into}, ${countText(unchanged, what)} there already`;
  const inBuckets = buckets === undefined ? "" : ` (${countText(buckets, "bucket")})`;
  // A source that has nothing is probably not the right one.
  const isEmpty = lost.length > 0 && copied + unchanged === 0;
  if (failures.length > 0 || others.length > 0 || isEmpty) {
    const problems = [
      ...(isEmpty ? [`${from} has none of the content: check that its file system is mounted`] : []),
      ...(failures.length > 0 ? [`${countText(failures.length, what)} not copied`] : []),
      ...(others.length > 0
        ? [
            `${countText(others.length, "file or folder", "files or folders")} only there: move them away, or delete them with --delete`,
          ]
        : []),
    ];
    ctx.say(
      `${sum}${inBuckets}; ${problems.join("; ")}. Nothing is lost; fix this and run the command again.`,
    );
    return false;
  }
  ctx.say(`${sum}${inBuckets}; the SHA-256 of every ${what} is the same.`);
  if (forgotten > 0)
    ctx.say(
      `${countText(forgotten, "version")} of an earlier object store, whose content is not here, forgotten.`,
    );
  return true;
}

/** Names the new store in the configuration, or says how. */
async function reportNextStep(
  ctx: Context,
  files: Config["files"],
  { path, writesConfig, from }: MigrateFilesOptions & { readonly from: string },
): Promise<void> {
  const { url } = files;
  const file = ctx.path(path);
  const unchanged = `The ${from === shown(undefined) ? from : `files in ${from}`} stay as they are.`;
  if (writesConfig) {
    await writeUrl(file, ["files", "url"], url);
    ctx.say(
      url === undefined
        ? `url below [files] was removed from ${file}; the next start uses plain files. ${unchanged}`
        : `url below [files] in ${file} names the new store; the next start uses it. ${unchanged}`,
    );
  } else
    ctx.say(
      url === undefined
        ? `Now remove url below [files] from ${file}, and start the server. ${unchanged}`
        : `Now write url = ${JSON.stringify(url)} below [files] into ${file}, and start the server. ${unchanged}`,
    );
  reportVariables(ctx, files);
  if (ctx.env.NODE_SERVER_FILES_URL)
    ctx.say(
      "note: NODE_SERVER_FILES_URL is set in this environment and overrides url; change it where the server is started.",
    );
}
