import {
  ClientError,
  type LogEntry,
  type LogGap,
  type NodeServerClient,
  PermissionDenied,
  pause,
  pauseAfterFailures,
} from "../../client/index.ts";

/** The pause before a node is asked again, half as long again at most: its entries are missing meanwhile. */
const maxRetryMs = 3500;

export interface FollowOptions {
  readonly log_filter: string;
  readonly signal: AbortSignal;
  /** How many entries wait for `show` before newer ones are dropped. */
  readonly buffer?: number;
  show(entries: readonly LogEntry[]): Promise<void>;
  /** Called before the entries that the server keeps are shown. */
  onConnected?(): void;
  /** Called when the connection broke and before it is made again. */
  onBroken?(): void;
  /** Receives a line for people about the connection. */
  say(line: string): void;
}

/** Follows the log of one server until `signal` fires. Throws when the first connection cannot be made, or the server refuses one. */
export async function followLog(
  client: NodeServerClient,
  { log_filter, signal, buffer, show, say, onConnected, onBroken }: FollowOptions,
): Promise<void> {
  let since: string | undefined;
  let gap: LogGap | undefined;
  let broken = false;
  for await (const event of client.followLog({
    log_filter,
    signal,
    ...(buffer !== undefined && { buffer }),
  })) {
    switch (event.kind) {
      case "entries":
        since = event.entries.at(-1)?.timestamp;
        await show(event.entries);
        break;
      case "broken":
        // Only the first break is reported; further attempts fail for the same reason.
        if (!broken) say(`the connection broke (${event.why.message}); reconnecting`);
        broken = true;
        onBroken?.();
        break;
      case "gap":
        gap = event;
        break;
      case "connected":
        if (event.again) say(`connected again; ${gapText(gap, since)}`);
        broken = false;
        gap = undefined;
        onConnected?.();
        break;
      case "missed":
        // If the server dropped them, an entry says so.
        if (event.by === "client") say(`${event.count} entries were dropped: the output is read too slowly`);
    }
  }
}

interface FollowNodeOptions extends FollowOptions {
  onConnected(): void;
  onBroken(): void;
}

/** Follows the log of a node that may come and go: what fails is reported once and tried again. Throws only if the token is refused. */
export async function followNode(client: NodeServerClient, options: FollowNodeOptions): Promise<void> {
  const { signal, show, say } = options;
  let failures = 0;
  let newest = Number.NEGATIVE_INFINITY;
  let failed = false;
  const onConnected = () => {
    if (failed) say("connected");
    failed = false;
    failures = 0;
    options.onConnected();
  };
  while (!signal.aborted) {
    const shownUntil = newest;
    try {
      await followLog(client, {
        ...options,
        onConnected,
        // A second stream begins with what the node keeps, which the first one has shown.
        show: (entries) => {
          const fresh = entries.filter((entry) => timeOf(entry) > shownUntil);
          newest = fresh.reduce((time, entry) => Math.max(time, timeOf(entry)), newest);
          return show(fresh);
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PermissionDenied || !(error instanceof ClientError)) throw error;
      if (!failed) say(`${error.message}; trying again`);
      failed = true;
      options.onBroken();
    }
    failures += 1;
    await pause(pauseAfterFailures(failures, maxRetryMs), signal);
  }
}

function timeOf({ timestamp }: LogEntry): number {
  return Date.parse(timestamp);
}

function gapText(gap: LogGap | undefined, since: string | undefined): string {
  if (gap === undefined) return `no entries since ${since} were lost`;
  const { after, before } = gap;
  if (after === undefined) return "entries may be missing";
  return before === undefined
    ? `entries since ${after} may be missing`
    : `entries between ${after} and ${before} may be missing`;
}
