import { signal } from "@preact/signals";
import { ClientError, type NodeServerClient, RpcError, Unreachable } from "../../../client/index.ts";
import { serverUrl } from "../../connection.ts";
import { replaceQuery, route } from "../../route.ts";
import { t } from "../../text/text.ts";
import { explain } from "../../ui/problem.tsx";
import { toast } from "../../ui/toasts.tsx";
import { type Progress, watchLog } from "./model.ts";

export type Run =
  | { readonly step: "none" }
  | { readonly step: "replacing"; readonly tag: string; readonly progress: Progress | undefined }
  /** `offlineMs`: time since the restart without an answer. */
  | { readonly step: "restarting"; readonly tag: string; readonly offlineMs: number }
  | { readonly step: "updated"; readonly tag: string }
  | { readonly step: "same"; readonly tag: string }
  /** `code` is `data.reason` of the server's error, where it has one. */
  | {
      readonly step: "failed";
      readonly tag: string;
      readonly why: string;
      readonly code: string | undefined;
    };

/** State of the update. It outlives the page, because an update continues while the person is on another page. */
export const run = signal<Run>({ step: "none" });

export function isUnderWay({ step }: Run): boolean {
  return step === "replacing" || step === "restarting";
}

/** Updates the server to `tag` and waits for the new version. Never throws: errors are reported in `run`. */
export async function update(client: NodeServerClient, tag: string): Promise<void> {
  run.value = { step: "replacing", tag, progress: undefined };
  try {
    const { cargo_version: from } = await client.call("node-server_version");
    await replace(client, tag);
    const wanted = tag.slice(1);
    if (wanted === from) {
      run.value = { step: "same", tag };
      return;
    }
    await restart(client, tag, from);
  } catch (error) {
    run.value = { step: "failed", tag, why: errorText(error), code: codeOf(error) };
  }
}

async function replace(client: NodeServerClient, tag: string): Promise<void> {
  const log = await watchLog(client, tag, (progress) => {
    if (run.value.step === "replacing") run.value = { step: "replacing", tag, progress };
  });
  try {
    // No timeout: a download may take long.
    await client.call("node-server_self_update", { tag }, { timeoutMs: 0 });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    // A proxy timed out, or the network was interrupted. The server continues and reports it in its log.
    const end = await log.end;
    if (end === undefined) throw new Error(t.update.lostConnection, { cause: error });
    if (end.stage === "failed") throw new UpdateFailed(t.update.says(end.why), end.code);
  } finally {
    log.stop();
  }
}

async function restart(client: NodeServerClient, tag: string, from: string): Promise<void> {
  run.value = { step: "restarting", tag, offlineMs: 0 };
  const back = await waitForRestart(client, tag.slice(1), (offlineMs) => {
    run.value = { step: "restarting", tag, offlineMs };
  });
  if (back.kind === "rolled back") throw new Error(t.update.rolledBack(tag, back.version, back.why));
  if (back.kind === "not restarted") throw new Error(t.update.notRestarted(back.version));
  run.value = { step: "updated", tag };
  // This console is still that of the old version. Another page may hold work that a reload would lose.
  if (route.value.page !== "update") toast(t.update.runsNow(tag));
  else {
    replaceQuery({ from });
    location.reload();
  }
}

/** Failure reported in the log, because the answer to the call was lost. */
class UpdateFailed extends Error {
  constructor(
    message: string,
    readonly code: string | undefined,
  ) {
    super(message);
  }
}

function codeOf(error: unknown): string | undefined {
  if (error instanceof UpdateFailed) return error.code;
  const reason = error instanceof RpcError ? error.data.reason : undefined;
  return typeof reason === "string" ? reason : undefined;
}

/** Sentence about an error, without the kind of the error before it. */
function errorText(error: unknown): string {
  return error instanceof RpcError ? t.update.says(error.detail) : explain(error);
}

type RestartResult =
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
async function waitForRestart(
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
