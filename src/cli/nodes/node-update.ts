import { z } from "zod";
import { Fault } from "../../base/fault.ts";
import {
  ClientError,
  eventOf,
  type Fetch,
  type NodeServerClient,
  NotNodeServer,
  PermissionDenied,
  pause,
  RpcError,
  type SubscribeOptions,
  toUnreachable,
} from "../../client/index.ts";
import type { Tag } from "../../update/release.ts";
import type { Context } from "../context.ts";
import { openProgress } from "../terminal/progress.ts";
import { listNodes, type NodeTarget } from "./cluster-nodes.ts";

/** WatchedNode is a node that is updated. */
type WatchedNode = Pick<NodeTarget, "fetch" | "newClient">;

const pollMs = 250;
/** The time in which a node has to answer a question about its state. */
const answerTimeoutMs = 3000;
const defaultMaxWaitMs = 60_000;
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

interface UpdateWatchOptions {
  readonly tag: Tag;
  /** How long it has to stay ready as the new version; 0 if it has to be ready once. */
  readonly watchMs: number;
  /** Ends the watching, not the update, which is the node's own. */
  readonly signal: AbortSignal;
  /** The UUID of a node of several processes at one address, which restart one after another. */
  readonly groupUuid: string | undefined;
  /** How long it may be away, not be ready or not restart, drains left out. */
  readonly maxWaitMs?: number;
}

interface UpdateNodeOptions extends UpdateWatchOptions {
  /** The title of the progress. */
  readonly title: string;
  say(line: string): void;
}

/** NodeFailure says why a node did not become the new version. */
export class NodeFailure extends Fault {
  constructor(why: string) {
    super("Other", why);
  }
}

/** `stateOf` asks a node for its version and whether it is ready; no token is sent. Throws a ClientError if it does not answer. */
export async function stateOf({ fetch, newClient }: WatchedNode): Promise<NodeState> {
  const { url } = newClient();
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
export async function updateNode(
  ctx: Context,
  target: WatchedNode,
  options: UpdateNodeOptions,
): Promise<void> {
  await requestUpdate(ctx, target, options);
  await new UpdateWatch(target, options).untilProven();
}

async function requestUpdate(
  ctx: Context,
  target: WatchedNode,
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
export class UpdateWatch {
  readonly #target: WatchedNode;
  readonly #options: UpdateWatchOptions;
  readonly #installedAt = performance.now();
  /** Since when the node has not been what it should become, drains left out. */
  #waitingSince = this.#installedAt;
  /** When it first answered as the new version. */
  #returnedAt: number | undefined;
  #readySince: number | undefined;

  constructor(target: WatchedNode, options: UpdateWatchOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** Resolves when the node is proven, or when `signal` fires. */
  async untilProven(): Promise<void> {
    const { signal, watchMs, maxWaitMs = defaultMaxWaitMs } = this.#options;
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
    const { tag, groupUuid } = this.#options;
    let state: NodeState;
    try {
      state = await stateOf(this.#target);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      return `it has not come back as ${tag.text}; its log may say why: ${error.message}`;
    }
    const { version, uptimeMs, missing } = state;
    if (version !== tag.version) {
      // The process that installed it has been up for longer than that.
      if (uptimeMs < now - this.#installedAt)
        throw new NodeFailure(
          `the update was rolled back: it runs ${version} again; its log says why (event update.reverted)`,
        );
      if (missing.includes("draining") && now - this.#installedAt < maxDrainMs) this.#waitingSince = now;
      return `it still runs ${version}`;
    }
    if (this.#returnedAt === undefined) this.#returnedAt = now;
    else if (groupUuid === undefined && uptimeMs < now - this.#returnedAt)
      throw new NodeFailure(`it runs ${version}, but has restarted unexpectedly; its log says why`);
    if (missing.length > 0) return `it runs ${version}, but is not ready (missing: ${missing.join(", ")})`;
    return groupUuid === undefined ? undefined : this.#askGroup(now, groupUuid);
  }

  /**
   * Returns that processes of the node run another version; undefined if all run the new one. The oldest speaks for the node in
   * the list.
   */
  async #askGroup(now: number, uuid: string): Promise<string | undefined> {
    const { tag } = this.#options;
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

/**
 * `startProgress` shows the progress of an update until `signal` fires or the server restarts.
 * Resolves when the subscription has begun and throws when it is refused;
 * a later break ends the progress, not the update.
 */
async function startProgress(
  ctx: Context,
  client: NodeServerClient,
  title: string,
  signal: AbortSignal,
): Promise<void> {
  const connected = Promise.withResolvers<void>();
  const options = { signal, reconnect: false, onConnect: () => connected.resolve() };
  await Promise.race([connected.promise, showProgress(ctx, client, title, options)]);
}

async function showProgress(
  ctx: Context,
  client: NodeServerClient,
  title: string,
  options: SubscribeOptions,
): Promise<void> {
  const shown = openProgress(ctx, title);
  const entries = client.subscribe("node-server_stream_log", { log_filter: "server=info" }, options);
  for await (const entry of entries) {
    const event = eventOf(entry);
    if (event?.event === "update.downloading" && event.bytes !== undefined) shown(event.bytes, event.total);
  }
}
