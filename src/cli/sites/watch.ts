import { jsonLine } from "../../base/json.ts";
import { visible } from "../../base/visible-text.ts";
import type { EventOf, NodeServerClient } from "../../client/index.ts";
import { command, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { untilStopped } from "../terminal/interrupt.ts";

type BucketEvent = EventOf<"static-bucket_watch">;

/** Changes that come within this time of each other belong together: a program that writes many files causes one run. */
const togetherMs = 200;
/** Changes that are kept for one run; further ones are counted. */
const maxKept = 10_000;

/** Follows what changes in a bucket. */
export const watch = command({
  name: "watch <bucket> [prefix]",
  summary: "follow what changes in a bucket, and run a command for it",
  needs: ["static-bucket_watch"],
  options: [
    ...remoteJson,
    ["--exec <command>", "run this command of the shell after changes, and once at the beginning"],
  ],
  notes: `
PREFIX is how the paths begin that are wanted, such as img/.

The command of --exec never gets a path as a part of its text. It has WATCH_BUCKET, WATCH_COUNT and,
if there was one change, WATCH_EVENT and WATCH_PATH in its environment, and a line of JSON for each
change at its standard input. Changes within ${togetherMs} ms, and those during a run, are one run. If
changes may have been missed, WATCH_EVENT is "reset". Exit codes of the command end nothing.`,
  async run({ bucket, prefix, exec, ...options }, ctx) {
    const client = await connect(ctx, options);
    const show = (events: readonly BucketEvent[]) =>
      ctx.print(events.map((event) => (options.json ? jsonLine(event) : lineOf(event))).join(""));
    await untilStopped(ctx, ({ signal }) =>
      followChanges(ctx, client, {
        bucket,
        prefix,
        signal,
        togetherMs: exec === undefined ? 0 : togetherMs,
        run: (events) => (exec === undefined ? show(events) : execute(ctx, exec, { bucket, events, signal })),
      }),
    );
    return exitCodes.done;
  },
});

interface FollowChangesOptions {
  readonly bucket: string;
  readonly prefix?: string | undefined;
  readonly signal: AbortSignal;
  /** How long changes are collected after the first one. */
  readonly togetherMs: number;
  /** Called with what has come, one call after the other. */
  readonly run: (events: readonly BucketEvent[]) => Promise<void>;
}

/** followChanges calls `run` for what changes in a bucket, until `signal` fires. The first event is a reset. */
export async function followChanges(
  ctx: Context,
  client: NodeServerClient,
  { bucket, prefix, signal, togetherMs, run }: FollowChangesOptions,
): Promise<void> {
  const stop = new AbortController();
  const following = AbortSignal.any([signal, stop.signal]);
  let waiting: BucketEvent[] = [];
  let wake = Promise.withResolvers<void>();
  let isOver = false;
  let isBroken = false;
  const read = async () => {
    const onBreak = (_: number, why: Error) => {
      if (!isBroken) ctx.say(`node-server: the connection broke (${why.message}); reconnecting`);
      isBroken = true;
    };
    try {
      for await (const event of client.watchBucket(bucket, { prefix, signal: following, onBreak })) {
        isBroken = false;
        // After a reset everything is to be listed, whatever came before.
        if (event.event === "reset" || waiting.length >= maxKept) waiting = [toReset(event)];
        else waiting.push(event);
        wake.resolve();
      }
    } finally {
      isOver = true;
      wake.resolve();
    }
  };
  const reading = read();
  const runAll = async () => {
    for (;;) {
      await wake.promise;
      if (signal.aborted || (isOver && waiting.length === 0)) return;
      await ctx.clock.sleep(togetherMs, signal);
      wake = Promise.withResolvers<void>();
      if (isOver) wake.resolve();
      const events = waiting;
      waiting = [];
      if (events.length > 0 && !signal.aborted) await run(events);
    }
  };
  try {
    await runAll();
  } finally {
    stop.abort();
    await reading;
  }
}

function toReset(event: BucketEvent): BucketEvent {
  return event.event === "reset" ? event : { event: "reset", reason: "slow", cursor: event.cursor };
}

function lineOf({ event, path = "", from, by, folder }: BucketEvent): string {
  const shown = folder ? `${path}/` : path;
  return `${[event, visible(from === undefined ? shown : `${from} -> ${shown}`), visible(by ?? "")].join("\t")}\n`;
}

interface Execution {
  readonly bucket: string;
  readonly events: readonly BucketEvent[];
  readonly signal: AbortSignal;
}

/** Runs a command of the user. What a server has sent is in its environment and its input, never in its text. */
async function execute(ctx: Context, text: string, { bucket, events, signal }: Execution): Promise<void> {
  const [first] = events;
  const only = events.length === 1 ? first : undefined;
  const shell = process.platform === "win32" ? ["cmd", "/d", "/s", "/c", text] : ["/bin/sh", "-c", text];
  const child = Bun.spawn(shell, {
    cwd: ctx.path("."),
    env: {
      ...ctx.env,
      WATCH_BUCKET: bucket,
      WATCH_COUNT: String(events.length),
      WATCH_EVENT: only?.event ?? "",
      WATCH_PATH: only?.path ?? "",
    },
    stdin: Buffer.from(events.map(jsonLine).join("")),
    stdout: "pipe",
    stderr: "pipe",
  });
  const end = () => child.kill("SIGTERM");
  signal.addEventListener("abort", end);
  try {
    const copy = async (from: ReadableStream<Uint8Array>, to: Context["out"]) => {
      for await (const piece of from) to.write(piece);
    };
    await Promise.all([copy(child.stdout, ctx.out), copy(child.stderr, ctx.err)]);
    const code = await child.exited;
    if (code !== 0 && !signal.aborted) ctx.say(`node-server: the command ended with ${code}`);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
