import { resolve } from "node:path";
import { Fault } from "../../base/fault.ts";
import { ClientError } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import { connect, exitCodeOf, type RemoteOptions } from "../remote/remote.ts";
import { print } from "../terminal/output.ts";
import { countText, numberText, sizeText, visible } from "../terminal/sizes.ts";
import { interruptible } from "./interrupt.ts";
import { type LeftOut, realFolder } from "./local-tree.ts";
import { PushRecord } from "./push-record.ts";
import { type PushSummary, plan, pushOnce, type Site } from "./push-run.ts";
import { pause } from "./upload-queue.ts";
import { FolderWatch } from "./watch.ts";

export interface PushOptions extends RemoteOptions {
  readonly delete?: boolean;
  readonly dryRun?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** pushNotes ends the help of `push`. */
export const pushNotes = `
Files are compared by size and hash; what earlier pushes learnt is kept in the user's state folder.
Files whose name begins with a dot are pushed too, except .git and .DS_Store.
Links are followed as long as they stay inside DIR; the others are left out and named.
Pages go up after what they refer to, the front page last; --delete comes after all uploads.`;

/** Between two tries while a folder is watched. */
const retryMs = 3000;

const say = (line: string) => void process.stderr.write(`${line}\n`);

/** Makes a bucket hold what a folder holds. */
export async function push(dir: string, bucket: string, options: PushOptions): Promise<number> {
  const client = await connect(options);
  const real = realFolder(dir);
  const record = await PushRecord.open(client.url, bucket, real, process.env);
  const site: Site = { client, bucket, dir: real, record, delete: options.delete === true };
  return interruptible(async (signal) => {
    if (options.dryRun) return showPlan(site, options, signal);
    // Before the first push: what is changed during it is not missed.
    using folder = options.watch ? new FolderWatch(resolve(dir)) : undefined;
    const code = await report(site, await pushOnce(site, say, signal), options);
    if (folder === undefined) return code;
    say(`watching ${dir}; Ctrl+C ends it`);
    return await keepPushing(site, folder, resolve(dir), options, signal);
  }, "broken off; what is up is whole, and the same command goes on from there");
}

async function keepPushing(
  site: Site,
  folder: FolderWatch,
  dir: string,
  options: PushOptions,
  signal: AbortSignal,
): Promise<number> {
  for (let owed = false; ; ) {
    // A push that failed is owed, with or without another change.
    await (owed ? pause(retryMs, signal) : folder.changed(signal));
    signal.throwIfAborted();
    // Between `rm -rf` and `mkdir` of a build there is nothing to push, and nothing to delete.
    if (!folder.isThere) continue;
    try {
      const code = await report(
        site,
        await pushOnce({ ...site, dir: realFolder(dir) }, say, signal),
        options,
      );
      owed = code !== exitCodes.done;
    } catch (error) {
      if (signal.aborted || exitCodeOf(error) === exitCodes.refused) throw error;
      if (!(error instanceof ClientError || error instanceof Fault)) throw error;
      say(`${error instanceof Fault ? error.detail : error.message}; trying again`);
      owed = true;
    }
  }
}

async function showPlan(site: Site, { json }: PushOptions, signal: AbortSignal): Promise<number> {
  const { plan: todo, local } = await plan(site, say, signal);
  const uploads = todo.uploads.map(({ path, look }) => ({ path, size: look.size }));
  const deletes = site.delete ? [...todo.gone] : [];
  if (json)
    await print(
      `${JSON.stringify({ dry_run: true, uploads, deletes, unchanged: todo.unchanged, left_out: local.leftOut })}\n`,
    );
  else
    await print(
      uploads.map(({ path, size }) => `upload\t${visible(path)}\t${sizeText(size)}\n`).join("") +
        deletes.map((path) => `delete\t${visible(path)}\n`).join(""),
    );
  name("not pushed", local.leftOut);
  say(
    `would upload ${countText(uploads.length, "file")} (${sizeText(sum(uploads))}) and delete ${numberText(deletes.length)}; ${numberText(todo.unchanged)} unchanged; nothing was done`,
  );
  return exitCodes.done;
}

const sum = (files: readonly { readonly size: number }[]) =>
  files.reduce((total, { size }) => total + size, 0);

async function report(site: Site, summary: PushSummary, { json }: PushOptions): Promise<number> {
  name("not pushed", summary.left_out);
  name("not deleted", summary.kept);
  name("failed", summary.failed);
  if (summary.not_sent > 0)
    say(
      `${countText(summary.not_sent, "file")} that may refer to those ${summary.not_sent === 1 ? "was" : "were"} not sent; push again when that is mended`,
    );
  const { uploaded, bytes, deleted, unchanged } = summary;
  say(
    `${site.bucket}: ${countText(uploaded, "file")} uploaded (${sizeText(bytes)}), ${numberText(deleted)} deleted, ${numberText(unchanged)} unchanged`,
  );
  if (json) await print(`${JSON.stringify(summary)}\n`);
  return summary.failed.length > 0 ? exitCodes.failed : exitCodes.done;
}

function name(what: string, files: readonly LeftOut[]): void {
  for (const { path, why } of files) say(`${what}: ${visible(path)}: ${visible(why)}`);
}
