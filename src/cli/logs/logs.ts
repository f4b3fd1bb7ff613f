import { Fault } from "../../base/fault.ts";
import { jsonLine } from "../../base/json.ts";
import { visible } from "../../base/visible-text.ts";
import {
  ClientError,
  type LogEntry,
  type NodeServerClient,
  PermissionDenied,
  pause,
} from "../../client/index.ts";
import { explainTargets } from "../../config/problem.ts";
import { parseFilter } from "../../log/filter.ts";
import { formatLine } from "../../log/terminal.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import {
  type ClusterNode,
  keyOf,
  labelsOf,
  listNodes,
  type NamedServer,
  nodeTarget,
} from "../nodes/cluster-nodes.ts";
import { clientFor, connect, findServer, type RemoteOptions } from "../remote/remote.ts";
import { type Colour, isColoured, paintFor } from "../terminal/colour.ts";
import { untilStopped } from "../terminal/interrupt.ts";
import { agoText } from "../terminal/quantities.ts";
import { type FollowOptions, followLog, followNode } from "./follow-node.ts";
import { inOrder, MergedLog, type NodeEntry, withoutEarlier } from "./merged-log.ts";

/**
 * Prints the entries that the server keeps in memory, and with `--follow` the new ones; with `--all` those of every node of its
 * cluster.
 */
export async function logs(options: LogsOptions, ctx: Context): Promise<number> {
  const { filter, json } = options;
  if (filter !== undefined) checkFilter(ctx, filter);
  if (options.all) return logsOfAll(ctx, options);
  if (options.allowHttp) throw new WrongUsage("--allow-http needs --all");
  const client = await connect(ctx, options);
  const coloured = isColoured(ctx);
  const show: FollowOptions["show"] = (entries) =>
    ctx.print(entries.map((entry) => (json ? jsonLine(entry) : `${formatLine(entry, coloured)}\n`)).join(""));
  await untilStopped(ctx, async ({ signal }) => {
    if (options.follow) {
      // A stream begins with what the server keeps.
      let isFirst = true;
      await followLog(client, {
        log_filter: filter ?? defaultFilter,
        signal,
        show: async (entries) => {
          const some = isFirst ? chosen(ctx, entries, options) : entries;
          isFirst = false;
          await show(some);
        },
        say: (line) => ctx.say(`node-server: ${line}`),
      });
    } else
      await show(chosen(ctx, await client.call("log_list", { log_filter: filter }, { signal }), options));
  });
  return exitCodes.done;
}

function checkFilter(ctx: Context, text: string): void {
  try {
    const why = explainTargets(parseFilter(text));
    if (why !== undefined) ctx.say(`warning: --filter ${why}`);
  } catch (error) {
    throw error instanceof Fault ? new WrongUsage(error.detail) : error;
  }
}

interface LogsOptions extends RemoteOptions {
  readonly follow?: boolean;
  readonly filter?: string;
  readonly json?: boolean;
  readonly all?: boolean;
  readonly allowHttp?: boolean;
  /** The number of the latest entries to print. */
  readonly lines?: number;
  /** Only entries of this many last milliseconds. */
  readonly since?: number;
}

/** The filter of a stream that was asked for without one. */
const defaultFilter = "info";

/** `chosen` leaves out entries before `--since`, and with `-n` all but the last ones. */
function chosen(
  ctx: Context,
  entries: readonly LogEntry[],
  { lines, since }: LogsOptions,
): readonly LogEntry[] {
  const now = ctx.clock.now();
  const late = entries.filter(({ timestamp }) => since === undefined || Date.parse(timestamp) >= now - since);
  return lines === undefined ? late : late.slice(Math.max(0, late.length - lines));
}

/** Entries of all nodes that may wait for the output before newer ones are dropped. */
const maxBuffered = 10_000;
const minBuffered = 500;

/** FollowedNode is a node whose log is being followed, or cannot be. */
interface FollowedNode {
  readonly label: string;
  readonly stop: AbortController;
  /** Resolves when the node has answered, or could not be reached at first. */
  readonly begun: Promise<void>;
  isConnected: boolean;
  /**
   * Whether it is in the list of nodes. One that is not is followed until its connection breaks: its address may belong to
   * somebody else by then.
   */
  isListed: boolean;
}

interface FollowedOptions {
  readonly ctx: Context;
  readonly server: NamedServer;
  readonly options: LogsOptions;
  readonly merged: MergedLog;
  readonly signal: AbortSignal;
  /** Called if a node refuses the token, or following fails otherwise for good. */
  onRefused(error: unknown): void;
}

/** FollowedNodes are the nodes whose logs are followed. */
class FollowedNodes {
  readonly #options: FollowedOptions;
  readonly #nodes = new Map<string, FollowedNode>();

  constructor(options: FollowedOptions) {
    this.#options = options;
  }

  /** Resolves when every node has answered, or could not be reached at first. */
  get begun(): Promise<unknown> {
    return Promise.all([...this.#nodes.values()].map(({ begun }) => begun));
  }

  /** Takes the nodes that are alive now. */
  update(alive: readonly ClusterNode[]): void {
    const listed = new Map(alive.map((node) => [keyOf(node), node]));
    for (const [key, followed] of this.#nodes) {
      followed.isListed = listed.has(key);
      if (!followed.isListed && !followed.isConnected) this.#leave(key, followed);
    }
    const labels = labelsOf(alive);
    for (const [key, node] of listed)
      if (!this.#nodes.has(key))
        this.#nodes.set(key, this.#follow(node, labels.get(key) ?? node.name, alive.length));
  }

  #leave(key: string, { label, stop }: FollowedNode): void {
    stop.abort();
    if (this.#nodes.delete(key)) this.#options.ctx.reportAbout(label, "left");
  }

  #follow(node: ClusterNode, label: string, count: number): FollowedNode {
    const { ctx, server, options, merged, signal, onRefused } = this.#options;
    const stop = new AbortController();
    signal.addEventListener("abort", () => stop.abort());
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const followed: FollowedNode = { label, stop, begun, isConnected: false, isListed: true };
    const allowHttp = options.allowHttp === true;
    const target = nodeTarget(node, server, { allowHttp, isOnly: count === 1 });
    if ("problem" in target) {
      ctx.reportAbout(label, target.problem);
      resolve();
      return followed;
    }
    ctx.reportAbout(label, `following ${target.url}`);
    let isBuffered = true;
    followNode(target.newClient(), {
      log_filter: options.filter ?? defaultFilter,
      signal: stop.signal,
      buffer: Math.max(minBuffered, Math.floor(maxBuffered / count)),
      // A stream begins with what the node keeps.
      show: (entries) => {
        const some = isBuffered ? chosen(ctx, entries, options) : entries;
        const added = merged.add(label, some, { isBuffered });
        isBuffered = false;
        return added;
      },
      say: (line) => ctx.reportAbout(label, line),
      onConnected: () => {
        followed.isConnected = true;
        resolve();
      },
      onBroken: () => {
        followed.isConnected = false;
        resolve();
        if (!followed.isListed) this.#leave(keyOf(node), followed);
      },
    }).catch(onRefused);
    return followed;
  }
}

/** Pause between two looks at the list of nodes. */
const listIntervalMs = 3000;
/** The entries that nodes keep are shown after this time, even if some node has not answered yet. */
const maxBeginMs = 5000;
/** Longest time that the end waits for an output that is not read. */
const maxLastWriteMs = 1000;
const nodeColours: readonly Colour[] = ["cyan", "green", "blue", "yellow"];

/** Prints the log entries of every node of a cluster, in the order of their times, each with the name of its node. */
async function logsOfAll(ctx: Context, options: LogsOptions): Promise<number> {
  const server = await findServer(ctx, options);
  const client = clientFor(server);
  const nodes = await listNodes(client);
  const run: Run = { server, client, options, write: writerFor(ctx, options) };
  let code: number = exitCodes.done;
  await untilStopped(ctx, async ({ signal }) => {
    if (options.follow) await followAll(ctx, run, nodes, signal);
    else code = await printBuffered(ctx, run, nodes, signal);
  });
  return code;
}

interface Run {
  readonly server: NamedServer;
  /** Talks to the server that the user named. */
  readonly client: NodeServerClient;
  readonly options: LogsOptions;
  write(entries: readonly NodeEntry[]): Promise<void>;
}

/** Prints the log entries that the nodes have in memory. The exit code says whether all nodes have answered. */
async function printBuffered(
  ctx: Context,
  { server, options, write }: Run,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<number> {
  const alive = reportDead(ctx, nodes);
  const labels = labelsOf(alive);
  let code: number = exitCodes.done;
  const buffered = await Promise.all(
    alive.map(async (node): Promise<NodeEntry[]> => {
      const label = labels.get(keyOf(node)) ?? node.name;
      const target = nodeTarget(node, server, {
        allowHttp: options.allowHttp === true,
        isOnly: alive.length === 1,
      });
      try {
        if ("problem" in target) ctx.reportAbout(label, target.problem);
        else {
          const entries = await target
            .newClient()
            .call("log_list", { log_filter: options.filter }, { signal });
          return chosen(ctx, entries, options).map((entry) => ({ node: label, entry, isBuffered: true }));
        }
      } catch (error) {
        if (error instanceof PermissionDenied || !(error instanceof ClientError)) throw error;
        ctx.reportAbout(label, error.message);
      }
      code = exitCodes.unreachable;
      return [];
    }),
  );
  await write(withoutEarlier(inOrder(buffered.flat()), options.lines));
  return code;
}

/** Follows the logs of all nodes, also of those that join later, until `signal` fires or the token is refused. */
async function followAll(
  ctx: Context,
  run: Run,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  signal.addEventListener("abort", () => ended.abort());
  const refused = Promise.withResolvers<never>();
  const merged = new MergedLog();
  const followed = new FollowedNodes({
    ctx,
    ...run,
    merged,
    signal: ended.signal,
    onRefused: refused.reject,
  });
  followed.update(reportDead(ctx, nodes));
  let isFirst = true;
  const write: Run["write"] = (entries) => {
    const some = isFirst ? withoutEarlier(entries, run.options.lines) : entries;
    isFirst = false;
    return run.write(some);
  };
  const writing = merged.run(write, {
    begin: Promise.race([followed.begun, pause(maxBeginMs, ended.signal)]),
    signal: ended.signal,
  });
  try {
    await Promise.race([writing, refused.promise, watchNodes(ctx, run.client, followed, ended.signal)]);
  } finally {
    ended.abort();
    // What has come is printed, unless the output is not read.
    await Promise.race([writing, Bun.sleep(maxLastWriteMs)]);
  }
}

/** Looks again and again which nodes there are. */
async function watchNodes(
  ctx: Context,
  client: NodeServerClient,
  followed: FollowedNodes,
  signal: AbortSignal,
): Promise<void> {
  let failed = false;
  for (;;) {
    await ctx.clock.sleep(listIntervalMs, signal);
    if (signal.aborted) return;
    try {
      followed.update((await listNodes(client, signal)).filter((node) => node.alive));
      if (failed) ctx.say("node-server: the list of nodes can be read again");
      failed = false;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PermissionDenied || !(error instanceof ClientError)) throw error;
      if (!failed)
        ctx.say(`node-server: the list of nodes cannot be read (${visible(error.message)}); trying again`);
      failed = true;
    }
  }
}

/** Names the nodes that ended without a notice, and returns the others. */
function reportDead(ctx: Context, nodes: readonly ClusterNode[]): ClusterNode[] {
  for (const { name, alive, last_seen } of nodes)
    if (!alive) ctx.reportAbout(name, `skipped: it was last seen ${agoText(last_seen)}`);
  return nodes.filter(({ alive }) => alive);
}

function writerFor(ctx: Context, { json }: LogsOptions): Run["write"] {
  const coloured = isColoured(ctx);
  const paint = paintFor(ctx);
  const colours = new Map<string, Colour>();
  let width = 0;
  const lineOf = ({ node, entry }: NodeEntry) => {
    if (json) return jsonLine({ node, ...entry });
    if (!colours.has(node)) colours.set(node, nodeColours[colours.size % nodeColours.length] ?? "cyan");
    const name = visible(node);
    width = Math.max(width, name.length);
    return `${paint(colours.get(node) ?? "cyan", `${name.padEnd(width)} |`)} ${formatLine(entry, coloured)}\n`;
  };
  return (entries) => ctx.print(entries.map((entry) => lineOf(entry)).join(""));
}
