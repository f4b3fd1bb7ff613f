import { ClientError, type NodeServerClient, RpcError } from "../../../client/index.ts";
import { serverUrl } from "../../connection.ts";
import { t } from "../../text/text.ts";

export type RestartResult =
  /** The requested version answers. */
  | { readonly kind: "updated" }
  /** The server restarted, and another version answers. */
  | { readonly kind: "rolled back"; readonly version: string; readonly why: string }
  /** The server has not restarted. */
  | { readonly kind: "not restarted"; readonly version: string };

const pollMs = 700;
/** A server that takes longer to answer counts as unreachable. */
const answerTimeoutMs = 5000;
/** Longest wait for a restart to begin, once the server has drained. It restarts 3 seconds after its answer, or after `drain_seconds`. */
const maxRestartMs = 60_000;

/**
 * Waits until the server is back after a restart, without a time limit. Calls `onOffline` with the elapsed time while it does not
 * answer.
 */
export async function waitForRestart(
  client: NodeServerClient,
  wanted: string,
  onOffline: (ms: number) => void,
): Promise<RestartResult> {
  const start = Date.now();
  let drainedAt = start;
  for (;;) {
    await new Promise((done) => setTimeout(done, pollMs));
    const elapsed = Date.now() - start;
    const now = await probe(client);
    if (now === undefined) onOffline(elapsed);
    else if (now.version === wanted) return { kind: "updated" };
    else if (now.uptimeMs < elapsed)
      return { kind: "rolled back", version: now.version, why: await lastError(client) };
    else if (await isDraining()) drainedAt = Date.now();
    else if (Date.now() - drainedAt > maxRestartMs) return { kind: "not restarted", version: now.version };
  }
}

/** Version and uptime of the server; undefined while it does not answer. */
async function probe(client: NodeServerClient) {
  try {
    const options = { timeoutMs: answerTimeoutMs };
    const { cargo_version: version } = await client.call("node-server_version", {}, options);
    return { version, uptimeMs: await uptime(client) };
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}

/** Whether the server goes on serving before it restarts. */
async function isDraining(): Promise<boolean> {
  try {
    const response = await fetch(`${serverUrl}/node/health`, {
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    const { draining = false } = (await response.json()) as { readonly draining?: boolean };
    return draining;
  } catch {
    // It does not answer, or has no such address.
    return false;
  }
}

/** Uptime of the server. An older version may not have the method; then it counts as not restarted. */
async function uptime(client: NodeServerClient): Promise<number> {
  try {
    return await client.call("node-server_uptime", {}, { timeoutMs: answerTimeoutMs });
  } catch (error) {
    if (error instanceof RpcError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/** Last error in the log, which explains the rollback. */
async function lastError(client: NodeServerClient): Promise<string> {
  const entries = await client.call("node-server_log", { log_filter: "server=error" });
  const last = entries.findLast(({ level }) => level === "ERROR");
  if (last === undefined) return t.update.noReason;
  const { reason, why } = last.fields;
  const more = reason ?? why;
  return typeof more === "string" ? `${last.message}: ${more}` : last.message;
}
