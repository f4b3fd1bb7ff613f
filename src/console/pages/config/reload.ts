import { eventOf, type LogEntry, type NodeServerClient, PermissionDenied } from "../../../client/index.ts";

/** What came of a configuration that was written. */
export interface Reload {
  /** Refused: it is in the file, but the server goes on with the old one. Unheard: the server did not say. */
  readonly kind: "applied" | "unchanged" | "refused" | "unheard";
  /** Keys that were changed. */
  readonly keys: readonly string[];
  /** Why it was refused. */
  readonly why: string;
  readonly warnings: readonly string[];
  /** Where it says that it listens now. */
  readonly listening: string | undefined;
}

const reported = { keys: [], why: "" };

/** How long a reload may take before one stops listening for its end: a database may have to be reached. */
const timeoutMs = 20_000;

/** Writes a configuration and listens to the log for what becomes of it. Throws when the server does not take the text. */
export async function writeConfig(client: NodeServerClient, text: string): Promise<Reload> {
  const leave = new AbortController();
  const heard = Promise.withResolvers<void>();
  const entries = client.subscribe(
    "node-server_stream_log",
    { log_filter: "server=info" },
    { signal: leave.signal, reconnect: false, onConnect: () => heard.resolve() },
  );
  const end = untilReloaded(entries);
  try {
    await Promise.race([heard.promise, end]);
    await client.call("node-server_edit_config", { config_string: text });
    const timer = setTimeout(() => leave.abort(), timeoutMs);
    return await end.finally(() => clearTimeout(timer));
  } finally {
    leave.abort();
  }
}

async function untilReloaded(entries: AsyncIterable<LogEntry>): Promise<Reload> {
  const warnings: string[] = [];
  let listening: string | undefined;
  try {
    for await (const entry of entries) {
      const event = eventOf(entry);
      switch (event?.event) {
        case "config.warning":
          warnings.push(entry.message);
          break;
        case "listener.bound":
          // A browser cannot use the Unix socket.
          if (event.transport === "tcp") listening = event.url;
          break;
        case "config.applied":
          return { ...reported, kind: "applied", keys: event.keys, warnings, listening };
        case "config.unchanged":
          return { ...reported, kind: "unchanged", warnings, listening };
        case "config.refused":
          return { ...reported, kind: "refused", why: event.reason, warnings, listening };
      }
    }
  } catch (error) {
    if (error instanceof PermissionDenied) throw error;
    // The connection is gone, with a listener that was left for instance; whoever saves looks whether the server is.
  }
  return { ...reported, kind: "unheard", warnings, listening };
}
