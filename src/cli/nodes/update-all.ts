import { z } from "zod";
import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import {
  ClientError,
  type Fetch,
  NotNodeServer,
  PermissionDenied,
  pause,
  RpcError,
  toUnreachable,
} from "../../client/index.ts";
import type { Tag } from "../../update/release.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { clientFor, findServer, type RemoteOptions } from "../remote/remote.ts";
import { startProgress } from "../server/running.ts";
import { confirm } from "../terminal/ask.ts";
import { agoText } from "../terminal/quantities.ts";
import {
  type ClusterNode,
  keyOf,
  labelsOf,
  listNodes,
  type NodeTarget,
  nodeTarget,
} from "./cluster-nodes.ts";

const pollMs = 250;
/** The time in which a node has to answer a question about its state. */
const answerTimeoutMs = 3000;
/** A node may be away, or not ready, or not restart for this long. Time in which it drains does not count. */
const maxWaitMs = 60_000;
/** The longest time for which a node may drain. */
const maxDrainMs = 3_600_000;

/** NodeState is what a node answers at one moment. */
interface NodeState {
  readonly version: string;
  readonly uptimeMs: number;
  /** What is missing for it to be ready; empty if it is ready. */
  readonly missing: readonly string[];
}

const health = z.object({ version: z.string(), uptime_ms: z.number() });
const unready = z.object({ missing: z.array(z.string()) });

interface UpdateNodeOptions {
  readonly tag: Tag;
  /** How long it has to stay ready as the new version. */
  readonly watchMs: number;
  /** Ends the watching, not the update, which is the node's own. */
  readonly signal: AbortSignal;
  readonly uuid: string;
  /** Several processes answer at the address, which restart one after another. */
  readonly isGroup: boolean;
  /** The title of the progress. */
  readonly title: string;
  say(line: string): void;
}

/** NodeFailure says why a node did not become the new version. */
class NodeFailure extends Error {
  override readonly name = "NodeFailure";
}

/** `stateOf` asks a node for its version and whether it is ready; no token is sent. Throws a ClientError if it does not answer. */
async function stateOf({ fetch, newAnonymousClient }: NodeTarget): Promise<NodeState> {
  const { url } = newAnonymousClient();
  const ask = async (path: string) => {
    const address = `${url}${path}`;
    try {
      // A connection that stays open would lead to the same process again, where a node has several.
      const response = await fetch(address, {
        keepalive: false,
        signal: AbortSignal.timeout(answerTimeoutMs),
      });
      return { isOk: response.ok, body: (await response.json()) as unknown };
    } catch (error) {
      throw error instanceof SyntaxError
        ? new NotNodeServer(`${address} is not the address of a node-server`)
        : toUnreachable(address, error);
    }
  };
  const alive = health.safeParse((await ask("/node/health")).body);
  if (!alive.success) throw new NotNodeServer(`${url} is not a node-server, or too old for /node/health`);
  const { version, uptime_ms: uptimeMs } = alive.data;
  const { isOk, body } = await ask("/node/ready");
  return { version, uptimeMs, missing: isOk ? [] : (unready.safeParse(body).data?.missing ?? ["unknown"]) };
}

/**
 * `updateNode` asks a node to update itself and watches it until it has been ready as the new version for `watchMs`. Throws a
 * NodeFailure if it was rolled back, did not come back or did not become ready; PermissionDenied if the token is refused.
 */
async function updateNode(ctx: Context, target: NodeTarget, options: UpdateNodeOptions): Promise<void> {
  await requestUpdate(ctx, target, options);
  await new UpdateWatch(target, options).untilProven();
}

async function requestUpdate(
  ctx: Context,
  target: NodeTarget,
  { tag, title, say, signal }: UpdateNodeOptions,
): Promise<void> {
  // A download may take longer than the runtime's own time limit.
  const fetch: Fetch = (url, init) => target.fetch(url, { ...init, timeout: false } as RequestInit);
  const client = target.newClient({ fetch });
  const stop = new AbortController();
  try {
    await startProgress(ctx, client, title, stop.signal);
    await client.call("node-server_self_update", { tag: tag.text }, { signal });
    say("installed; it restarts");
  } catch (error) {
    if (signal.aborted || error instanceof PermissionDenied || !(error instanceof ClientError)) throw error;
    if (error instanceof RpcError) throw new NodeFailure(`it was not updated: ${error.message}`);
    throw new NodeFailure(`the connection broke during the update, which may continue: ${error.message}`);
  } finally {
    stop.abort();
  }
}

/** UpdateWatch watches a node after it has installed another version. */
class UpdateWatch {
  readonly #target: NodeTarget;
  readonly #options: UpdateNodeOptions;
  readonly #installedAt = performance.now();
  /** Since when the node has not been what it should become, drains left out. */
  #waitingSince = this.#installedAt;
  /** When it first answered as the new version. */
  #returnedAt: number | undefined;
  #readySince: number | undefined;

  constructor(target: NodeTarget, options: UpdateNodeOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** Resolves when the node is proven, or when `signal` fires. */
  async untilProven(): Promise<void> {
    const { signal, watchMs } = this.#options;
    while (!signal.aborted) {
      await pause(pollMs, signal);
      const now = performance.now();
      const problem = await this.#check(now);
      if (problem !== undefined) {
        this.#readySince = undefined;
        if (now - this.#waitingSince > maxWaitMs) throw new NodeFailure(problem);
        continue;
      }
      this.#waitingSince = now;
      this.#readySince ??= now;
      if (now - this.#readySince >= watchMs) return;
    }
  }

  /** Returns what the node still lacks; undefined if it is ready as the new version. Throws if it will not become that. */
  async #check(now: number): Promise<string | undefined> {
    const { tag, isGroup } = this.#options;
    let state: NodeState;
    try {
      state = await stateOf(this.#target);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      return `it has not come back within ${maxWaitMs / 1000} s: ${error.message}`;
    }
    const { version, uptimeMs, missing } = state;
    if (version !== tag.version) {
      // The process that installed it has been up for longer than that.
      if (uptimeMs < now - this.#installedAt)
        throw new NodeFailure(`the update was rolled back: it runs ${version} again; its log says why`);
      if (missing.includes("draining") && now - this.#installedAt < maxDrainMs) this.#waitingSince = now;
      return `it still runs ${version}`;
    }
    if (this.#returnedAt === undefined) this.#returnedAt = now;
    else if (!isGroup && uptimeMs < now - this.#returnedAt)
      throw new NodeFailure(`it runs ${version}, but has restarted unexpectedly; its log says why`);
    if (missing.length > 0) return `it runs ${version}, but is not ready (missing: ${missing.join(", ")})`;
    return isGroup ? this.#askGroup(now) : undefined;
  }

  /**
   * Returns that processes of the node run another version; undefined if all run the new one. The oldest speaks for the node in
   * the list.
   */
  async #askGroup(now: number): Promise<string | undefined> {
    const { tag, uuid } = this.#options;
    try {
      const nodes = await listNodes(this.#target.newClient());
      const versions = nodes.filter((node) => node.uuid === uuid && node.alive).map(({ version }) => version);
      const other = versions.find((version) => version !== tag.version);
      if (other === undefined) return undefined;
      // Each process drains before the next one is replaced.
      if (now - this.#installedAt < maxDrainMs) this.#waitingSince = now;
      return `some of its processes still run ${other}`;
    } catch (error) {
      if (error instanceof PermissionDenied || !(error instanceof ClientError)) throw error;
      return `its processes cannot be asked: ${error.message}`;
    }
  }
}

export interface UpdateAllOptions extends RemoteOptions {
  readonly allowHttp?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
  /** Seconds for which a node has to stay ready before the next one is updated. */
  readonly watch?: number;
}

/** Number of times that each node is asked who it is before anything is updated. */
const identityQuestions = 3;
const defaultWatchSeconds = 10;

/** PlannedNode is a node of a cluster that is being updated, and how far it is. */
interface PlannedNode {
  readonly name: string;
  readonly uuid: string;
  readonly url: string;
  readonly from: string;
  readonly target: NodeTarget;
  readonly isGroup: boolean;
  /** `unchanged`: it ran the version already. */
  state: "pending" | "updated" | "unchanged" | "failed";
  reason?: string;
}

/**
 * Updates all nodes of a cluster, one after another. The first is the canary: the next one is touched only when it has come back as the
 * new version and stayed ready. The first failure ends it. The node that was asked for the list is the last.
 */
export async function updateAll(ctx: Context, tag: Tag, options: UpdateAllOptions): Promise<number> {
  const nodes = await plan(ctx, tag, options);
  const pending = nodes.filter(({ state }) => state === "pending");
  for (const node of nodes) ctx.reportAbout(node.name, planText(node, tag, pending.indexOf(node)));
  if (pending.length > 0)
    await confirm(ctx, `The token is sent to the addresses above, and each node restarts.`, options.yes);
  const ended = await updateInTurn(ctx, pending, tag, options);
  if (options.json) await ctx.printJson({ tag: tag.text, nodes: nodes.map(toJson) });
  if (ended === "done") {
    if (!options.json) await ctx.print(`${nodes.length} of ${nodes.length} nodes run ${tag.text} now\n`);
    return exitCodes.done;
  }
  ctx.warn(`node-server: ${outcomeText(nodes, tag, ended)}`);
  return exitCodes.failed;
}

/** Finds the nodes and asks each for its state. Throws, with nothing changed, if one of them cannot be updated now. */
async function plan(ctx: Context, tag: Tag, options: UpdateAllOptions): Promise<PlannedNode[]> {
  const server = await findServer(ctx, options);
  const listed = await listNodes(clientFor(server));
  for (const { name, alive, last_seen } of listed)
    if (!alive) ctx.reportAbout(name, `skipped: it was last seen ${agoText(last_seen)}`);
  const alive = listed.filter((node) => node.alive);
  const labels = labelsOf(alive);
  const ordered = [...alive.filter(({ answers }) => !answers), ...alive.filter(({ answers }) => answers)];
  const problems: string[] = [];
  const nodes: PlannedNode[] = [];
  for (const node of ordered) {
    const name = labels.get(keyOf(node)) ?? node.name;
    const target = nodeTarget(node, server, {
      allowHttp: options.allowHttp === true,
      isOnly: alive.length === 1,
    });
    const planned = "problem" in target ? target.problem : await planNode(node, target, tag);
    if (typeof planned === "string") problems.push(`${visible(name)}: ${visible(planned)}`);
    else nodes.push({ ...planned, name });
  }
  if (problems.length === 0) return nodes;
  throw new Fault("Other", `nothing was updated, because not every node can be:\n${problems.join("\n")}`);
}

/** Returns the node with its present version, or why it cannot be updated. */
async function planNode(
  node: ClusterNode,
  target: NodeTarget,
  tag: Tag,
): Promise<Omit<PlannedNode, "name"> | string> {
  try {
    const { uuid } = node;
    const anonymous = target.newAnonymousClient();
    // A balancer may lead to the right node once, but not each time.
    for (let asked = 0; asked < identityQuestions; asked += 1) {
      const other = await anonymous.call("node-server_uuid");
      if (other !== uuid)
        return `${target.url} is the address of another node (${other}): node_url must lead to the node itself, not to a balancer`;
    }
    const { version, missing } = await stateOf(target);
    if (missing.length > 0) return `it is not ready (missing: ${missing.join(", ")})`;
    const state = version === tag.version ? "unchanged" : "pending";
    return { uuid, url: target.url, from: version, target, isGroup: node.processes > 1, state };
  } catch (error) {
    if (error instanceof ClientError) return error.message;
    throw error;
  }
}

/**
 * Updates one node after another, until one fails or a signal comes. A second signal ends the watching of the node that is being
 * updated, too.
 */
async function updateInTurn(
  ctx: Context,
  nodes: readonly PlannedNode[],
  tag: Tag,
  { watch = defaultWatchSeconds }: UpdateAllOptions,
): Promise<"done" | "failed" | "interrupted"> {
  let interrupted = false;
  const abort = new AbortController();
  const interrupt = () => {
    if (interrupted) abort.abort();
    else
      ctx.say(
        "node-server: stopping after this node; interrupt again to stop watching, the update of the node continues",
      );
    interrupted = true;
  };
  const unhook = ctx.onSignals(["SIGINT", "SIGTERM", "SIGHUP"], interrupt);
  try {
    for (const [at, node] of nodes.entries()) {
      if (interrupted) return "interrupted";
      const title = `${visible(node.name)}: downloading ${tag.text}`;
      ctx.reportAbout(node.name, `updating ${node.from} to ${tag.version} (${at + 1} of ${nodes.length})`);
      const reportLine = (line: string) => ctx.reportAbout(node.name, line);
      try {
        const { isGroup, target, uuid } = node;
        const { signal } = abort;
        await updateNode(ctx, target, {
          tag,
          watchMs: watch * 1000,
          signal,
          uuid,
          isGroup,
          title,
          say: reportLine,
        });
      } catch (error) {
        if (abort.signal.aborted) return "interrupted";
        if (!(error instanceof NodeFailure)) throw error;
        node.state = "failed";
        node.reason = error.message;
        return "failed";
      }
      if (abort.signal.aborted) return "interrupted";
      node.state = "updated";
      reportLine(`runs ${tag.text} and is ready`);
    }
    return "done";
  } finally {
    unhook();
  }
}

function planText({ state, url, from }: PlannedNode, tag: Tag, turn: number): string {
  if (state === "unchanged") return `runs ${tag.text} already (${url})`;
  return `${from} to ${tag.version}${turn === 0 ? ", the canary" : ""} (${url})`;
}

/** outcomeText describes the state in which an unfinished update has left the cluster. */
function outcomeText(nodes: readonly PlannedNode[], tag: Tag, why: "failed" | "interrupted"): string {
  const named = (state: PlannedNode["state"]) =>
    nodes.filter((node) => node.state === state).map(({ name }) => visible(name));
  const failed = nodes.find(({ state }) => state === "failed");
  const current = [...named("updated"), ...named("unchanged")];
  const list = (names: readonly string[]) => (names.length === 0 ? "none" : names.join(", "));
  const first =
    why === "interrupted" || failed === undefined
      ? "the update was interrupted"
      : `the update stopped at ${visible(failed.name)}: ${visible(failed.reason ?? "")}`;
  return `${first}; run ${tag.text}: ${list(current)}; not updated: ${list([...named("failed"), ...named("pending")])}`;
}

function toJson({ name, uuid, url, from, state, reason }: PlannedNode): object {
  return { name, uuid, url, from, state, ...(reason !== undefined && { reason }) };
}
