import { type FSWatcher, statSync, watch } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { ClientError } from "../../client/index.ts";
import { addressOfBucket } from "../buckets/bucket-address.ts";
import { command, exitCodes, type Options, type Outcome, printOutcome } from "../command.ts";
import type { Context } from "../context.ts";
import { type ErrorFacts, errorFacts } from "../errors.ts";
import { remoteJson } from "../options.ts";
import { connect, exitCodeOf } from "../remote/remote.ts";
import { interruptible } from "../terminal/interrupt.ts";
import { countText, numberText, sizeText } from "../terminal/quantities.ts";
import { planText, reportCopies, sizeOf } from "../transfer/engine.ts";
import { realFolder } from "../transfer/local-tree.ts";
import { reportOmitted, reportSkipped, reportSkippedThere } from "../transfer/omitted-file.ts";
import { PushRecord } from "../transfer/record.ts";
import { skipNotes, skipOptions } from "../transfer/skip-rules.ts";
import { withTransferLock } from "../transfer/transfer-lock.ts";
import { type PushSummary, planPush, pushOnce, type Site } from "./push-once.ts";

const pushOptions = [
  ...remoteJson,
  ["--delete", "also delete files that are not in the folder"],
  ["--force", "upload all files, even unchanged ones"],
  ["--dry-run", "show what would happen and change nothing"],
  ["--watch", "push again whenever a file changes"],
  ...skipOptions,
] as const;
type PushOptions = Options<typeof pushOptions>;

/** Pause between two attempts while a folder is watched. */
const retryMs = 3000;

const notice = "interrupted; uploaded files are complete, and the same command continues from there";

/** Uploads what differs between a folder and a bucket, once or whenever the folder changes. */
export const push = command({
  name: "push <dir> <bucket>",
  summary: "upload the changed files of a folder to a bucket, file by file",
  needs: ["static-bucket_lease", "files"],
  options: pushOptions,
  notes: `
Files are compared by size and hash; results of earlier pushes are stored in the user's state folder.
${skipNotes}
--delete keeps skipped files in the bucket, too.
--watch --json prints a line for each event: watching, pushed, folder_missing, retrying.
Pages are uploaded after the files they refer to, the front page last; --delete runs after all uploads.`,
  async run({ dir, bucket, ...options }, ctx) {
    const client = await connect(ctx, options);
    const real = realFolder(ctx, dir);
    const record = await PushRecord.open(ctx, { server: client.url, bucket, dir: real });
    const [mayDelete, force] = [options.delete === true, options.force === true];
    const site: Site = { client, bucket, dir: real, record, delete: mayDelete, force, skip: options };
    return interruptible(ctx, notice, async (signal) => {
      if (options.dryRun) return showPlan(ctx, site, options, signal);
      // Opened before the first push, so that no change during it is missed.
      using folder = options.watch ? new FolderWatch(ctx.path(dir), ctx.clock) : undefined;
      const summary = await pushAlone(ctx, site, signal);
      reportSkipped(ctx, summary.skipped, options);
      reportSkippedThere(ctx, bucket, summary.skipped_there);
      const outcome = {
        ...report(ctx, site, summary, options),
        text: `${await addressOfBucket(client, bucket)}\n`,
      };
      if (folder === undefined) return outcome;
      await printOutcome(ctx, outcome, options.json);
      await reportEvent(ctx, options, { event: "watching", dir }, `watching ${dir}; stop with Ctrl+C`);
      return await keepPushing(
        ctx,
        { ...site, force: false },
        { folder, dir: ctx.path(dir) },
        options,
        signal,
      );
    });
  },
});

/** Pushes once, unless somebody else pushes to the bucket or deploys it now. */
function pushAlone(ctx: Context, site: Site, signal: AbortSignal): Promise<PushSummary> {
  return withTransferLock(ctx, site.client, { bucket: site.bucket, what: "push" }, () =>
    pushOnce(ctx, site, signal),
  );
}

async function keepPushing(
  ctx: Context,
  site: Site,
  { folder, dir }: { readonly folder: FolderWatch; readonly dir: string },
  options: PushOptions,
  signal: AbortSignal,
): Promise<number> {
  for (let isIncomplete = false; ; ) {
    // A push that failed is repeated, with or without another change.
    await (isIncomplete ? ctx.clock.sleep(retryMs, signal) : folder.changed(signal));
    signal.throwIfAborted();
    // Between `rm -rf` and `mkdir` of a build there is nothing to push, and nothing to delete.
    if (!folder.isThere) {
      await reportEvent(
        ctx,
        options,
        { event: "folder_missing", dir },
        `${dir} does not exist; waiting for it`,
      );
      continue;
    }
    try {
      const summary = await pushAlone(ctx, { ...site, dir: realFolder(ctx, dir) }, signal);
      const code = await printOutcome(ctx, report(ctx, site, summary, options), options.json);
      isIncomplete = code !== exitCodes.done;
    } catch (error) {
      if (signal.aborted || exitCodeOf(error) === exitCodes.refused) throw error;
      if (!(error instanceof ClientError || error instanceof Fault)) throw error;
      const facts = errorFacts(error);
      await reportEvent(ctx, options, { event: "retrying", error: facts }, `${facts.detail}; trying again`);
      isIncomplete = true;
    }
  }
}

/** WatchEvent is what `--watch --json` prints between the summaries, which have the event `pushed`. */
type WatchEvent =
  | { readonly event: "watching" | "folder_missing"; readonly dir: string }
  /** The push failed and is repeated. */
  | { readonly event: "retrying"; readonly error: ErrorFacts };

/** Reports an event in words on standard error, and with `--json` as a line on standard output. */
async function reportEvent(
  ctx: Context,
  { json }: PushOptions,
  event: WatchEvent,
  message: string,
): Promise<void> {
  ctx.say(message);
  if (json) await ctx.printJson(event);
}

async function showPlan(
  ctx: Context,
  site: Site,
  { verbose }: PushOptions,
  signal: AbortSignal,
): Promise<Outcome> {
  const { plan, local } = await planPush(ctx, site, signal);
  const uploads = plan.uploads.map(({ path, size }) => ({ path, size }));
  const deletes = site.delete ? [...plan.gone] : [];
  reportOmitted(ctx, "not pushed", local.omitted);
  reportSkipped(ctx, local.skipped, { verbose });
  reportSkippedThere(ctx, site.bucket, plan.skippedThere);
  const json = {
    dry_run: true,
    uploads,
    deletes,
    unchanged: plan.unchanged,
    left_out: local.omitted,
    skipped: local.skipped,
    skipped_there: plan.skippedThere,
  };
  const sum = `would upload ${countText(uploads.length, "file")} (${sizeText(sizeOf(uploads))}) and delete ${numberText(deletes.length)}; ${numberText(plan.unchanged)} unchanged; nothing was done`;
  return { json, text: planText("upload", uploads, deletes), after: [sum] };
}

function report(ctx: Context, site: Site, summary: PushSummary, { watch }: PushOptions): Outcome {
  const { uploaded, bytes, deleted, unchanged, not_sent: rest } = summary;
  const lines = [
    `${site.bucket}: ${countText(uploaded, "file")} uploaded (${sizeText(bytes)}), ${numberText(deleted)} deleted, ${numberText(unchanged)} unchanged`,
  ];
  if (rest > 0)
    lines.unshift(
      `${countText(rest, "file")} that may refer to them ${rest === 1 ? "was" : "were"} not sent; fix the problem and push again`,
    );
  const json = watch ? { event: "pushed", ...summary } : summary;
  return { ...reportCopies(ctx, { verb: "pushed", summary, lines }), json };
}

/** A build writes many files: a push begins after this time without a change. */
const quietMs = 300;
/** The longest wait for quiet after the first change. */
const maxQuietWaitMs = 5000;
/** The interval at which the folder itself is checked: a missing folder has no watcher that could report its return. */
const pollMs = 1000;

/**
 * FolderWatch reports that something below a folder was changed, also after the folder or one below it was removed and
 * made again.
 *
 * A watcher belongs to the folder that existed when it was opened, not to its path. So `changed` opens a new one each time
 * before it resolves, and its caller then compares the whole tree: whatever happened before the new watcher is found by the
 * comparison, and whatever happens after it is reported.
 */
class FolderWatch implements Disposable {
  readonly #dir: string;
  readonly #clock: Clock;
  #watcher: FSWatcher | undefined;
  #identity: string | undefined;
  /** Fires with the first change after `#open`. */
  #change = new AbortController();
  #lastAt = 0;

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
    this.#open();
  }

  /** Resolves when there was a change and it is quiet again, or when `signal` fires. The caller must then compare everything. */
  async changed(signal: AbortSignal): Promise<void> {
    const woken = AbortSignal.any([signal, this.#change.signal]);
    // The sleep keeps the process alive while there is no watcher.
    for (this.#poll(); !woken.aborted; this.#poll()) await this.#clock.sleep(pollMs, woken);
    const first = this.#clock.monotonic();
    while (!signal.aborted && this.#clock.monotonic() - first < maxQuietWaitMs) {
      const rest = this.#lastAt + quietMs - this.#clock.monotonic();
      if (rest <= 0 && this.isThere) break;
      await this.#clock.sleep(Math.max(rest, 20), signal);
    }
    this.#open();
  }

  get isThere(): boolean {
    return identityOf(this.#dir) !== undefined;
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }

  #open(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#change = new AbortController();
    // Before the watcher: a folder that is replaced in between differs at the next poll.
    this.#identity = identityOf(this.#dir);
    if (this.#identity === undefined) return;
    try {
      this.#watcher = watch(this.#dir, { recursive: true }, () => this.#note());
      this.#watcher.on("error", () => this.#note());
    } catch (error) {
      if (codeOf(error) === "ENOENT") this.#identity = undefined;
      else throw new Fault("IoError", `${this.#dir} cannot be watched: ${whyUnwatchable(error)}`);
    }
  }

  #poll(): void {
    if (identityOf(this.#dir) !== this.#identity) this.#note();
  }

  #note(): void {
    this.#lastAt = this.#clock.monotonic();
    this.#change.abort();
  }
}

/** Identifies a folder. It includes the birth time, because file systems reuse inode numbers at once. */
function identityOf(dir: string): string | undefined {
  const stats = statSync(dir, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}:${stats.birthtimeNs}` : undefined;
}

function whyUnwatchable(error: unknown): string {
  const code = codeOf(error);
  return code === "ENOSPC" || code === "EMFILE"
    ? "the system allows no more watched folders (raise fs.inotify.max_user_watches and max_user_instances)"
    : messageOf(error);
}
