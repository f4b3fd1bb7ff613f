import { Fault } from "../../base/fault.ts";
import type { LogEntry, LogGap, NodeServerClient } from "../../client/index.ts";
import { parseFilter } from "../../log/filter.ts";
import { formatLine } from "../../log/terminal.ts";
import { exitCodes } from "../command.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { isColoured } from "../terminal/colour.ts";
import { print, untilStopped } from "../terminal/output.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";

export interface LogsOptions extends RemoteOptions {
  readonly follow?: boolean;
  readonly filter?: string;
  readonly json?: boolean;
}

type Show = (entries: readonly LogEntry[]) => Promise<void>;

/** Prints the entries that the server keeps in memory, and with `--follow` the new ones. */
export async function logs(options: LogsOptions): Promise<number> {
  const { filter, json } = options;
  if (filter !== undefined) checkFilter(filter);
  const client = await connect(options);
  const coloured = isColoured(process.stdout);
  const show: Show = (entries) =>
    print(entries.map((entry) => `${json ? JSON.stringify(entry) : formatLine(entry, coloured)}\n`).join(""));
  await untilStopped(async ({ signal }) => {
    if (options.follow) await follow(client, filter ?? "info", show, signal);
    else await show(await client.call("log_list", { log_filter: filter }, { signal }));
  });
  return exitCodes.done;
}

async function follow(
  client: NodeServerClient,
  log_filter: string,
  show: Show,
  signal: AbortSignal,
): Promise<void> {
  let since: string | undefined;
  let gap: LogGap | undefined;
  let broken = false;
  for await (const event of client.followLog({ log_filter, signal })) {
    switch (event.kind) {
      case "entries":
        since = event.entries.at(-1)?.timestamp;
        await show(event.entries);
        break;
      case "broken":
        // Only the first break is reported; further attempts fail for the same reason.
        if (!broken) say(`the connection broke (${event.why.message}); reconnecting`);
        broken = true;
        break;
      case "gap":
        gap = event;
        break;
      case "connected":
        if (event.again) say(`connected again; ${gapText(gap, since)}`);
        broken = false;
        gap = undefined;
        break;
      case "missed":
        // If the server dropped them, an entry says so.
        if (event.by === "client") say(`${event.count} entries were dropped: the output is read too slowly`);
    }
  }
}

function gapText(gap: LogGap | undefined, since: string | undefined): string {
  if (gap === undefined) return `what the server kept since ${since} follows; nothing of that is missing`;
  const { after, before } = gap;
  if (after === undefined) return "what the server still keeps follows; entries may be missing";
  return before === undefined
    ? `entries since ${after} may be missing`
    : `entries between ${after} and ${before} may be missing`;
}

function checkFilter(text: string): void {
  try {
    parseFilter(text);
  } catch (error) {
    throw error instanceof Fault ? new WrongUsage(error.detail) : error;
  }
}

function say(line: string): void {
  process.stderr.write(`node-server: ${line}\n`);
}
