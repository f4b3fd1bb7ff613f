import type { NodeServerClient } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { countText, sizeText } from "../terminal/quantities.ts";
import { type Meter, openMeter } from "./meter.ts";
import { type OmissionCause, type OmittedFile, reportOmitted } from "./omitted-file.ts";
import { inParallel, RetryPolicy } from "./transfer.ts";

/** CopySummary is what a copy or a move did, as `--json` prints it. */
export interface CopySummary {
  copied: number;
  bytes: number;
  readonly left_out: OmittedFile[];
  readonly failed: OmittedFile[];
}

/** One file to copy. */
export interface FileCopy {
  readonly path: string;
  readonly size: number;
}

/** CopyResult is undefined for a file that was copied; else the cause why this file alone was not. */
export type CopyResult = OmissionCause | undefined;

export interface CopyTools {
  readonly meter: Meter;
  readonly retry: RetryPolicy;
}

/** copyAll copies files, several at once, and shows the progress. */
export async function copyAll<T extends FileCopy>(
  ctx: Context,
  files: readonly T[],
  signal: AbortSignal,
  copyOne: (file: T, tools: CopyTools, signal: AbortSignal) => Promise<CopyResult>,
): Promise<CopySummary> {
  const done: CopySummary = { copied: 0, bytes: 0, left_out: [], failed: [] };
  if (files.length === 0) return done;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const meter = openMeter(ctx, "copying", { bytes, files: files.length });
  const retry = new RetryPolicy({ clock: ctx.clock, say: (line) => meter.say(line) });
  try {
    await inParallel(files, signal, async (file, signal) => {
      const result = await copyOne(file, { meter, retry }, signal);
      meter.fileDone();
      if (result !== undefined) return void done.failed.push({ path: file.path, ...result });
      done.copied += 1;
      done.bytes += file.size;
    });
  } finally {
    meter.end();
  }
  return done;
}

/** makeFolders makes folders of a bucket and the folders above them, each once, several at once. */
export async function makeFolders(
  ctx: Context,
  client: NodeServerClient,
  { bucket, folders }: { readonly bucket: string; readonly folders: Iterable<string> },
  signal: AbortSignal,
): Promise<void> {
  const files = client.bucket(bucket);
  const all = [...folders];
  // Making one makes those above it too.
  const deepest = all.filter((folder) => !all.some((other) => other.startsWith(`${folder}/`)));
  const retry = new RetryPolicy(ctx);
  await inParallel(deepest, signal, (folder, signal) =>
    retry.attempt(signal, () => files.makeFolder(folder, { signal })),
  );
}

export interface ReportOptions {
  readonly json?: boolean;
}

/** report prints the summary, and returns the exit code. */
export async function report(
  ctx: Context,
  done: CopySummary,
  { json }: ReportOptions,
  verb = "copied",
): Promise<number> {
  reportOmitted(ctx, "not copied", done.left_out);
  reportOmitted(ctx, "failed", done.failed);
  ctx.say(`${countText(done.copied, "file")} ${verb} (${sizeText(done.bytes)})`);
  if (json) await ctx.print(`${JSON.stringify(done)}\n`);
  return done.failed.length > 0 ? exitCodes.failed : exitCodes.done;
}
