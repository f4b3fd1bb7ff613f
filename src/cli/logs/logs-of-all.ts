import { visible } from "../../base/visible-text.ts";
import { ClientError, type NodeServerClient, PermissionDenied, pause } from "../../client/index.ts";
import { formatLine } from "../../log/terminal.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { type ClusterNode, keyOf, labelsOf, listNodes } from "../nodes/cluster-nodes.ts";
import { type NamedServer, nodeTarget } from "../nodes/node-target.ts";
import { clientFor, findServer } from "../remote/remote.ts";
import { type Colour, isColoured, paintFor } from "../terminal/colour.ts";
import { reportAbout, untilStopped } from "../terminal/output.ts";
import { agoText } from "../terminal/quantities.ts";
import { chosen, FollowedNodes, type LogsOptions } from "./followed-nodes.ts";
import { inOrder, MergedLog, type NodeEntry, withoutEarlier } from "./merged-log.ts";

/** Pause between two looks at the list of nodes. */
const listIntervalMs = 3000;
/** The entries that nodes keep are shown after this time, even if some node has not answered yet. */
const maxBeginMs = 5000;
/** Longest time that the end waits for an output that is not read. */
const maxLastWriteMs = 1000;
const nodeColours: readonly Colour[] = ["cyan", "green", "blue", "yellow"];

/** Prints the log entries of every node of a cluster, in the order of their times, each with the name of its node. */
export async function logsOfAll(ctx: Context, options: LogsOptions): Promise<number> {
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
        if ("problem" in target) reportAbout(ctx, label, target.problem);
        else {
          const entries = await target
            .newClient()
            .call("log_list", { log_filter: options.filter }, { signal });
          return chosen(ctx, entries, options).map((entry) => ({ node: label, entry, isBuffered: true }));
        }
      } catch (error) {
        if (error instanceof PermissionDenied || !(error instanceof ClientError)) throw error;
        reportAbout(ctx, label, error.message);
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
    if (!alive) reportAbout(ctx, name, `skipped: it was last seen ${agoText(last_seen)}`);
  return nodes.filter(({ alive }) => alive);
}

function writerFor(ctx: Context, { json }: LogsOptions): Run["write"] {
  const coloured = isColoured(ctx);
  const paint = paintFor(ctx);
  const colours = new Map<string, Colour>();
  let width = 0;
  const lineOf = ({ node, entry }: NodeEntry) => {
    if (json) return JSON.stringify({ node, ...entry });
    if (!colours.has(node)) colours.set(node, nodeColours[colours.size % nodeColours.length] ?? "cyan");
    const name = visible(node);
    width = Math.max(width, name.length);
    return `${paint(colours.get(node) ?? "cyan", `${name.padEnd(width)} |`)} ${formatLine(entry, coloured)}`;
  };
  return (entries) => ctx.print(entries.map((entry) => `${lineOf(entry)}\n`).join(""));
}
