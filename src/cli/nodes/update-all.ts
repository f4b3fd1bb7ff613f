import { Fault } from "../../base/fault.ts";
import { visible } from "../../base/visible-text.ts";
import { ClientError } from "../../client/index.ts";
import type { Tag } from "../../update/release.ts";
import { exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { clientFor, findServer, type RemoteOptions } from "../remote/remote.ts";
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
import { NodeFailure, stateOf, updateNode } from "./node-update.ts";

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
  readonly groupUuid: string | undefined;
  /** `unchanged`: it ran the version already. */
  state: "pending" | "updated" | "unchanged" | "failed";
  reason?: string;
}

/**
 * Updates all nodes of a cluster, one after another. The first is the canary: the next one is touched only when it has come back as the
 * new version and stayed ready. The first failure ends it. The node that was asked for the list is the last.
 */
export async function updateAll(ctx: Context, tag: Tag, options: UpdateAllOptions): Promise<Outcome> {
  const nodes = await plan(ctx, tag, options);
  const pending = nodes.filter(({ state }) => state === "pending");
  for (const node of nodes) ctx.reportAbout(node.name, planText(node, tag, pending.indexOf(node)));
  if (pending.length > 0)
    await confirm(ctx, `The token is sent to the addresses above, and each node restarts.`, options.yes);
  const ended = await updateInTurn(ctx, pending, tag, options);
  const json = { tag: tag.text, nodes: nodes.map(toJson) };
  if (ended === "done")
    return { json, text: `${nodes.length} of ${nodes.length} nodes run ${tag.text} now\n` };
  ctx.warn(`node-server: ${outcomeText(nodes, tag, ended)}`);
  return { json, code: exitCodes.failed };
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
    const groupUuid = node.processes > 1 ? uuid : undefined;
    return { uuid, url: target.url, from: version, target, groupUuid, state };
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
        const { target, groupUuid } = node;
        const [watchMs, { signal }] = [watch * 1000, abort];
        await updateNode(ctx, target, { tag, watchMs, signal, groupUuid, title, say: reportLine });
      } catch (error) {
        if (abort.signal.aborted) return "interrupted";
        if (!(error instanceof NodeFailure)) throw error;
        node.state = "failed";
        node.reason = error.detail;
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
