import { resolve } from "node:path";
import { type CopyFilesReport, copyFiles } from "../../backup/copy-files.ts";
import { Fault } from "../../base/fault.ts";
import { parseFilesUrl } from "../../base/files-url.ts";
import { readOverrides } from "../../config/environment.ts";
import { awsVariables, isS3 } from "../../config/files-keys.ts";
import { loadConfig } from "../../config/load.ts";
import type { Config } from "../../config/schema.ts";
import { findServerUuid } from "../../config/server-uuid.ts";
import { databaseFile } from "../../db/database.ts";
import { LogHub } from "../../log/hub.ts";
import { inspectMovedDatabase } from "../../preflight.ts";
import { exitCodes } from "../command.ts";
import { type Meter, openMeter } from "../deploy/meter.ts";
import { readConfig } from "../server/open.ts";
import { say } from "../terminal/output.ts";
import { countText } from "../terminal/quantities.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { refuseRunning } from "./refuse-running.ts";

/** The target that stands for plain files below `static_path`. */
const disk = "disk";
/** Problems that are printed one by one. */
const maxShown = 20;
/** Names the staging folder of a server that has no UUID yet. */
const noUuid = "00000000-0000-0000-0000-000000000000";

export interface MigrateFilesOptions {
  readonly config: string;
  /** `disk`, or what `[files] url` will be. */
  readonly target: string;
  readonly deletesOthers: boolean;
}

/** Copies the files of all buckets into another store. */
export async function migrateFiles(
  signal: AbortSignal,
  { config: path, target, deletesOthers }: MigrateFilesOptions,
): Promise<number> {
  const config = await readConfig(path, inspectMovedDatabase);
  const to = await targetFiles(path, config, target);
  const [from, into] = [shown(config.files.url), shown(to.url)];
  if (from === into) throw new WrongUsage(`the files are in ${into} already`);
  // A server that writes on would not be in the copy.
  await refuseRunning({ config, path });
  const { database, static_path: staticPath } = config;
  const found = await findServerUuid(config.server_uuid, path, databaseFile(database.database_url));
  let meter: Meter | undefined;
  let report: CopyFilesReport;
  try {
    report = await copyFiles({
      database,
      staticPath,
      serverUuid: found ?? noUuid,
      from: config.files,
      to,
      deletesOthers,
      hub: new LogHub(),
      signal,
      begin(load) {
        meter = openMeter("copying", load, { showsRate: true });
        return meter;
      },
    });
  } finally {
    meter?.end();
  }
  return conclude(report, { path, from, into, files: to });
}

/** The settings of the target: those of the configuration with another `url`, checked as if they stood there. */
async function targetFiles(path: string, config: Config, target: string): Promise<Config["files"]> {
  if (target === disk) return { ...config.files, url: undefined };
  assertTarget(target);
  const { values, ...rest } = readOverrides(process.env);
  const url = { path: ["files", "url"], from: "--files", value: target };
  const others = values.filter((override) => override.path.join(".") !== "files.url");
  const { config: changed } = await loadConfig(path, inspectMovedDatabase, {
    ...rest,
    values: [...others, url],
  });
  return changed.files;
}

/** A target that is mistyped is no problem of the configuration. */
function assertTarget(target: string): void {
  try {
    parseFilesUrl(target);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const detail = /^(file|s3):/.test(target) ? `; the URL ${error.detail}` : "";
    throw new WrongUsage(
      `--files names no store. It takes disk (plain files below static_path), file:///absolute/folder or s3://bucket/prefix${detail}`,
    );
  }
}

function shown(url: string | undefined): string {
  return url ?? "plain files below static_path";
}

/** Names the files whose content was lost before: that is no failure of the copy, and repeating it would not help. */
function sayLost(lost: CopyFilesReport["lost"], from: string): void {
  for (const { blob, place, isRemoved } of lost.slice(0, maxShown)) {
    const file = place === undefined ? `blob ${blob}` : `${place.bucket}/${place.path}`;
    say(
      `note: not copied: ${file}${isRemoved ? " (deleted file)" : ""}: ${from} does not have its content either`,
    );
  }
  if (lost.length > 0)
    say(
      `note: the content of ${countText(lost.length, "file")} was missing before; files that are not deleted need a backup or another upload.`,
    );
}

/** Says which settings of S3 came from this environment: the server may be started in another one. */
function sayVariables(files: Config["files"]): void {
  if (!isS3(files.url)) return;
  const used = Object.entries(awsVariables).filter(
    ([variable, key]) => process.env[variable] && process.env[variable] === files[key],
  );
  if (used.length === 0) return;
  const names = (which: 0 | 1) => used.map((pair) => pair[which]).join(", ");
  say(
    `note: ${names(0)} ${used.length === 1 ? "was" : "were"} taken from this environment. The server needs the same where it is started, or write ${names(1)} below [files].`,
  );
}

function conclude(
  { buckets, copied, unchanged, others, failures, lost, forgotten }: CopyFilesReport,
  { path, from, into, files }: { path: string; from: string; into: string; files: Config["files"] },
): number {
  for (const { what, why } of failures.slice(0, maxShown)) say(`not copied: ${what}: ${why}`);
  sayLost(lost, from);
  for (const name of others.slice(0, maxShown)) say(`only in ${into}: ${name}`);
  const what = buckets === undefined ? "blob" : "file";
  const sum = `${countText(copied, what)} copied to ${into}, ${countText(unchanged, what)} there already`;
  const place = buckets === undefined ? "" : ` (${countText(buckets, "bucket")})`;
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
    say(
      `${sum}${place}; ${problems.join("; ")}. Nothing is lost; run the command again when that is put right.`,
    );
    return exitCodes.failed;
  }
  say(`${sum}${place}; the SHA-256 of every ${what} is the same.`);
  if (forgotten > 0)
    say(
      `${countText(forgotten, "version")} of an earlier object store, whose content is not here, forgotten.`,
    );
  const { url } = files;
  const kept = from === shown(undefined) ? from : `files in ${from}`;
  const change =
    url === undefined
      ? "remove url below [files] from"
      : `write url = ${JSON.stringify(url)} below [files] into`;
  say(`Now ${change} ${resolve(path)}, and start the server. The ${kept} stay as they are.`);
  sayVariables(files);
  if (process.env.NODE_SERVER_FILES_URL)
    say(
      "note: NODE_SERVER_FILES_URL is set in this environment and overrides url; change it where the server is started.",
    );
  return exitCodes.done;
}
