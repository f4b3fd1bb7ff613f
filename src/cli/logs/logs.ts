import { Fault } from "../../base/fault.ts";
import { type LogEntry, type NodeServerClient, PermissionDenied, Unreachable } from "../../client/index.ts";
import { type Filter, parseFilter } from "../../log/filter.ts";
import { formatLine } from "../../log/terminal.ts";
import { exitCodes } from "../command.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { isColoured } from "../terminal/colour.ts";
import { print, untilStopped } from "../terminal/output.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { LogJoin, passes } from "./log-lines.ts";

export interface LogsOptions extends RemoteOptions {
  readonly follow?: boolean;
  readonly filter?: string;
  readonly json?: boolean;
}

/** What a live stream shows unless a filter is given. */
const standardFilter = "info";

/** The entries that the server keeps in memory, and with `-f` those that follow. */
export async function logs(options: LogsOptions): Promise<number> {
  const filter = readFilter(options.filter ?? (options.follow ? standardFilter : undefined));
  const client = await connect(options);
  const coloured = isColoured(process.stdout);
  const show = (entries: readonly LogEntry[]) =>
    print(
      entries
        .map((entry) => `${options.json ? JSON.stringify(entry) : formatLine(entry, coloured)}\n`)
        .join(""),
    );
  const kept = async () => {
    const entries = await client.call("node-server_log");
    return filter === undefined ? entries : entries.filter((entry) => passes(filter, entry));
  };
  await untilStopped(async (stop) => {
    if (filter === undefined || !options.follow) await show(await kept());
    else await new Follower(client, filter, kept, show, stop).run();
  });
  return exitCodes.done;
}

/** The memory and the live stream as one, over broken connections. */
class Follower {
  readonly #join = new LogJoin();
  #joining: Promise<void> = Promise.resolve();
  #failure: unknown;
  #broken = false;

  constructor(
    private readonly client: NodeServerClient,
    private readonly filter: Filter,
    private readonly kept: () => Promise<LogEntry[]>,
    private readonly show: (entries: readonly LogEntry[]) => Promise<void>,
    private readonly stop: AbortController,
  ) {}

  async run(): Promise<void> {
    const end = new AbortController();
    this.stop.signal.addEventListener("abort", () => end.abort());
    const events = this.client.subscribe(
      "node-server_stream_log",
      { log_filter: this.filter.text },
      {
        signal: end.signal,
        onConnect: (again) => {
          this.#joining = this.#readKept(again).catch((error) => {
            // The stream breaks as well, and with the next connection the memory is read again.
            if (again && error instanceof Unreachable) return;
            this.#failure = error;
            end.abort();
          });
        },
        onBreak: (_, why) => {
          if (!this.#broken) say(`the connection broke (${why.message}); it is made again`);
          this.#broken = true;
        },
        onMissed: (count) => say(`${count} entries were dropped: the output is read too slowly`),
      },
    );
    for await (const entry of events) {
      await this.#joining;
      if (this.#failure !== undefined) break;
      if (this.#join.takeSent(entry)) await this.show([entry]);
      if (isFarewell(entry)) throw new PermissionDenied(entry.message, 102, "PermissionDenied", {});
    }
    await this.#joining;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #readKept(again: boolean): Promise<void> {
    const before = this.#join.last;
    const entries = await this.kept();
    const { fresh, gap } = this.#join.takeKept(entries);
    if (again) say(`connected again; ${missedWords(before, gap ? entries : undefined)}`);
    this.#broken = false;
    await this.show(fresh);
  }
}

/** `entries`: what the server keeps now, when it holds nothing of what was told before. */
function missedWords(before: string | undefined, entries: readonly LogEntry[] | undefined): string {
  if (before === undefined) return "what the server still keeps follows";
  if (entries === undefined)
    return `what the server kept since ${before} follows; nothing of that is missing`;
  const until = entries[0]?.timestamp;
  return until === undefined
    ? `entries since ${before} may be missing`
    : `entries between ${before} and ${until} may be missing`;
}

/** The server says by its last event that it ended the stream; the connection would stay, and stay silent. */
function isFarewell({ target, level, message }: LogEntry): boolean {
  return target === "server" && level === "WARN" && message.startsWith("this log stream ends: ");
}

function readFilter(text: string | undefined): Filter | undefined {
  try {
    return text === undefined ? undefined : parseFilter(text);
  } catch (error) {
    throw error instanceof Fault ? new WrongUsage(error.detail) : error;
  }
}

function say(line: string): void {
  process.stderr.write(`node-server: ${line}\n`);
}
