import { ClientError, type NodeServerClient, RpcError } from "../../../client/index.ts";

export type Return =
  /** The wanted version answers. */
  | { readonly kind: "updated" }
  /** It restarted, and another version answers. */
  | { readonly kind: "taken back"; readonly version: string; readonly why: string }
  /** It has not restarted at all. */
  | { readonly kind: "not restarted"; readonly version: string };

const askMs = 700;
/** An answer that takes longer comes from no healthy server. */
const answerMs = 5000;
/** The server restarts 3 seconds after it answered, and is away for a moment. */
const restartMs = 60_000;

/** Waits until the server is back after a restart, for as long as that takes; `away` is told while nobody answers. */
export async function comeBack(
  client: NodeServerClient,
  wanted: string,
  away: (ms: number) => void,
): Promise<Return> {
  const start = Date.now();
  for (;;) {
    await new Promise((done) => setTimeout(done, askMs));
    const elapsed = Date.now() - start;
    const now = await ask(client);
    if (now === undefined) away(elapsed);
    else if (now.version === wanted) return { kind: "updated" };
    else if (now.uptimeMs < elapsed)
      return { kind: "taken back", version: now.version, why: await lastError(client) };
    else if (elapsed > restartMs) return { kind: "not restarted", version: now.version };
  }
}

/** Undefined while it gives no answer. */
async function ask(client: NodeServerClient) {
  try {
    const options = { timeoutMs: answerMs };
    const { cargo_version: version } = await client.call("node-server_version", {}, options);
    return { version, uptimeMs: await uptime(client) };
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}

/** An older version may not know the method; then it is taken for one that has been up for ever. */
async function uptime(client: NodeServerClient): Promise<number> {
  try {
    return await client.call("node-server_uptime", {}, { timeoutMs: answerMs });
  } catch (error) {
    if (error instanceof RpcError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/** What the log says of the restart. */
async function lastError(client: NodeServerClient): Promise<string> {
  const entries = await client.call("node-server_log", { log_filter: "server=error" });
  const last = entries.findLast(({ level }) => level === "ERROR");
  if (last === undefined) return "its log does not say why";
  const { reason, why } = last.fields;
  const more = reason ?? why;
  return typeof more === "string" ? `${last.message}: ${more}` : last.message;
}
