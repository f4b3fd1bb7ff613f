import type { Clock } from "../../base/clock.ts";
import { faultReason } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import { type BucketFiles, FileError, withRetries } from "../../client/index.ts";
import { exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { type Meter, openMeter } from "../terminal/progress.ts";
import { sizeText } from "../terminal/quantities.ts";
import { type OmissionCause, type OmittedFile, reportOmitted } from "./omitted-file.ts";
import { foldersOf } from "./remote-tree.ts";

// The engine that copies files for `push`, `pull`, `deploy`, `cp` and `buckets clone`. A command plans: it lists both sides and
// chooses the files. `copyFiles` copies them, several at once, tries again, shows the progress and counts. `send.ts` and
// `fetch.ts` copy one file up or down, `reportCopies` prints what happened.

/** Transfers at once. The server answers each when it is on the disk; meanwhile the others travel. */
const maxParallel = 16;

/** Attempts of one transfer after failures: half a minute in all, enough for a restart of the server or a short loss of the network. */
const maxRetries = 7;

/** CopyTools are what the copies of one run share. */
export interface CopyTools {
  readonly meter: Meter;
  readonly retry: RetryPolicy;
}

/** Upload is what the uploads to one bucket share. */
export interface Upload extends CopyTools {
  readonly files: BucketFiles;
  /** Whether the token may write files and no more. */
  readonly writeOnly?: boolean;
}

/** CopyRefusal is the cause why one file alone was not copied. */
interface CopyRefusal extends OmissionCause {
  /** Whether the copy of the others is complete without it, as for a file that was deleted meanwhile. */
  readonly harmless?: boolean;
}

/** CopyJob is what one run copies, and how. */
export interface CopyJob<T> {
  /** The first word of the progress line, such as `pushing`. */
  readonly what: string;
  /** Phases are copied one after the other; after one with a failure no further one is begun. */
  readonly phases: readonly (readonly T[])[];
  /** Folders of a bucket to make first. */
  readonly folders?: { readonly of: BucketFiles; readonly paths: Iterable<string> };
  /** Copies one file and resolves to the bytes copied, or to the cause why this file alone was not copied. */
  copy(file: T, tools: CopyTools, signal: AbortSignal): Promise<number | CopyRefusal>;
}

/** CopySummary is what a run has copied so far. */
export interface CopySummary {
  copied: number;
  bytes: number;
  /** Not copied by intention, or gone meanwhile. */
  readonly left_out: OmittedFile[];
  readonly failed: OmittedFile[];
}

export function newSummary(): CopySummary {
  return { copied: 0, bytes: 0, left_out: [], failed: [] };
}

/** copyFiles copies files and counts them in `summary`, also if it throws. */
export async function copyFiles<T extends { readonly path: string; readonly size: number }>(
  ctx: Context,
  { what, phases, folders, copy }: CopyJob<T>,
  summary: CopySummary,
  signal: AbortSignal,
): Promise<CopySummary> {
  const files = phases.flat();
  const meter = openMeter(ctx, what, { bytes: sizeOf(files), files: files.length });
  const retry = new RetryPolicy({ clock: ctx.clock, say: (line) => meter.say(line) });
  try {
    if (folders !== undefined)
      await inParallel(deepest(folders.paths), signal, (path, signal) =>
        retry.attempt(signal, () => folders.of.makeFolder(path, { signal })),
      );
    for (const phase of phases) {
      if (summary.failed.length > 0) break;
      await inParallel(phase, signal, async (file, signal) => {
        const result = await copy(file, { meter, retry }, signal).catch((error: unknown) => {
          const refusal = refusalOf(error);
          if (refusal === undefined) throw error;
          return refusal as CopyRefusal;
        });
        meter.fileDone();
        if (typeof result === "number") {
          summary.copied += 1;
          summary.bytes += result;
          return;
        }
        const { reason, why, harmless } = result;
        (harmless ? summary.left_out : summary.failed).push({ path: file.path, reason, why });
      });
    }
    return summary;
  } finally {
    if (files.length > 0) meter.end();
  }
}

/** sizeOf adds up the bytes of files. */
export function sizeOf(files: readonly { readonly size: number }[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** Folders that hold no other of these folders: making one makes those above it too. */
function deepest(paths: Iterable<string>): string[] {
  const all = [...paths];
  const above = foldersOf(all);
  return all.filter((path) => path !== "" && !above.has(path));
}

/** planText returns what a dry run would copy and delete, one file a line. */
export function planText(
  verb: "upload" | "download",
  files: readonly { readonly path: string; readonly size: number }[],
  deletes: readonly string[],
): string {
  return (
    files.map(({ path, size }) => `${verb}\t${visible(path)}\t${sizeText(size)}\n`).join("") +
    deletes.map((path) => `delete\t${visible(path)}\n`).join("")
  );
}

/** CopyReport is how a command ends that has copied files. */
export interface CopyReport {
  /** What was done with the files: `pushed`. */
  readonly verb: string;
  readonly summary: Readonly<Record<"left_out" | "failed", readonly OmittedFile[]>> & {
    readonly kept?: readonly OmittedFile[];
  };
  /** Lines for people. */
  readonly lines: readonly string[];
}

/** reportCopies names the files that were not copied, says what happened, and returns the outcome; its `json` is the summary. */
export function reportCopies(
  ctx: Context,
  { verb, summary, lines }: CopyReport,
): Outcome & { readonly code: number } {
  const { left_out, kept = [], failed } = summary;
  reportOmitted(ctx, `not ${verb}`, left_out);
  reportOmitted(ctx, "not deleted", kept);
  reportOmitted(ctx, "failed", failed);
  for (const line of lines) ctx.say(line);
  return { json: summary, code: failed.length > 0 ? exitCodes.failed : exitCodes.done };
}

/** inParallel works on all items, several at once. After the first error no further item is begun; it is thrown when those under way have ended. */
export async function inParallel<T>(
  items: Iterable<T>,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  let first: { readonly error: unknown } | undefined;
  const worker = async () => {
    while (!either.aborted) {
      const next = iterator.next();
      if (next.done) return;
      try {
        await work(next.value, either);
      } catch (error) {
        first ??= { error };
        failed.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: maxParallel }, worker));
  signal.throwIfAborted();
  if (first !== undefined) throw first.error;
}

/** RetryPolicy repeats work when the connection breaks or the server is busy. It says once that it waits, and once that it goes on. */
export class RetryPolicy {
  readonly #clock: Clock;
  readonly #say: (line: string) => void;
  /** The message to print when the next attempt succeeds; undefined unless it waits. */
  #restored: string | undefined;

  constructor({ clock, say }: { readonly clock: Clock; readonly say: (line: string) => void }) {
    this.#clock = clock;
    this.#say = say;
  }

  async attempt<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const result = await withRetries(work, {
      signal,
      maxRetries,
      sleep: (ms, signal) => this.#clock.sleep(ms, signal),
      onRetry: ({ error }) => {
        if (this.#restored === undefined) this.#say(`${problemOf(error)}; trying again`);
        this.#restored ??= error instanceof FileError ? "the server works again" : "connected again";
        return undefined;
      },
    });
    if (this.#restored !== undefined) this.#say(this.#restored);
    this.#restored = undefined;
    return result;
  }
}

/** isContentLost returns whether the server's store has lost the content of a file: only another upload, or a backup, brings it back. */
export function isContentLost(error: unknown): error is FileError {
  return error instanceof FileError && error.reason === "blob_missing";
}

/** What happened: a server that answered with an error is not one whose connection broke. */
function problemOf(error: unknown): string {
  if (!(error instanceof FileError)) return "the connection broke";
  return `the server answered ${error.status} for ${visible(error.message.replace(/\.$/, ""))}`;
}

/** `refusalOf` returns why the server refused this one file; undefined if the error concerns all of them. */
export function refusalOf(error: unknown): OmissionCause | undefined {
  if (!(error instanceof FileError)) return undefined;
  if (error.status === 423) return { reason: "locked", why: "it is locked on the server" };
  if (![400, 405, 409, 412, 413, 414].includes(error.status)) return undefined;
  const reason = error.status === 412 ? "changed" : faultReason(error.reason);
  return { reason: reason ?? "refused", why: error.message };
}
