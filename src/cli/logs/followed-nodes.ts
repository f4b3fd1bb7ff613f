import type { LogEntry } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { type ClusterNode, keyOf, labelsOf } from "../nodes/cluster-nodes.ts";
import { type NamedServer, nodeTarget } from "../nodes/node-target.ts";
import type { RemoteOptions } from "../remote/remote.ts";
import { reportAbout } from "../terminal/output.ts";
import { followNode } from "./follow-node.ts";
import type { MergedLog } from "./merged-log.ts";

export interface LogsOptions extends RemoteOptions {
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
export const defaultFilter = "info";

/** `chosen` leaves out entries before `--since`, and with `-n` all but the last ones. */
export function chosen(
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
export class FollowedNodes {
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
    if (this.#nodes.delete(key)) reportAbout(this.#options.ctx, label, "left");
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
      reportAbout(ctx, label, target.problem);
      resolve();
      return followed;
    }
    reportAbout(ctx, label, `following ${target.url}`);
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
      say: (line) => reportAbout(ctx, label, line),
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
