import { eventOf, type LogEntry, type NodeServerClient, PermissionDenied } from "../../../client/index.ts";

/** Reload is the outcome of writing a configuration. */
export interface Reload {
  /** Refused: it is in the file, but the server goes on with the old one. Unheard: the server did not say. */
  readonly kind: "applied" | "unchanged" | "refused" | "unheard";
  /** Keys that were changed. */
  readonly keys: readonly string[];
  /** Why it was refused. */
  readonly why: string;
  readonly warnings: readonly string[];
  /** The address at which the server now listens, as it reports it. */
  readonly listening: string | undefined;
}

const reported = { keys: [], why: "" };

/** Longest wait for the end of a reload: a database may have to be reached. */
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
    // The connection is gone, with a listener that was left for instance; the caller checks whether the server is gone too.
  }
  return { ...reported, kind: "unheard", warnings, listening };
}

const header = /^[ \t]*\[/;

interface KeyLocation {
  readonly table?: string;
  readonly name: string;
}

/**
 * Sets a key in the text of a configuration: in the line that sets it, in that of its commented default, else as the first of its
 * table. The server checks the result.
 */
export function withKey(text: string, location: KeyLocation, value: string): string {
  const lines = text.split("\n");
  const set = `${location.name} = ${value}`;
  const at = lineOf(lines, location, "") ?? lineOf(lines, location, "#");
  if (at !== undefined) return lines.with(at, set).join("\n");
  const table = tableIn(lines, location.table);
  return table === undefined
    ? `${text.trimEnd()}\n\n[${location.table}]\n${set}\n`
    : lines.toSpliced(table.start, 0, set).join("\n");
}

/** Lines of a table, without its header; undefined without one. */
function tableIn(lines: readonly string[], table: string | undefined) {
  const isHeader = (line: string) => line.replace(/[ \t\r]|#.*/g, "") === `[${table}]`;
  const start = table === undefined ? 0 : lines.findIndex(isHeader) + 1;
  if (table !== undefined && start === 0) return undefined;
  const next = lines.findIndex((line, at) => at >= start && header.test(line));
  return { start, end: next === -1 ? lines.length : next };
}

/** Index of the line that sets a key, after `comment`. */
function lineOf(
  lines: readonly string[],
  { table, name }: KeyLocation,
  comment: "" | "#",
): number | undefined {
  const { start, end } = tableIn(lines, table) ?? { start: 0, end: 0 };
  const own = new RegExp(`^[ \\t]*${comment}[ \\t]*${name}[ \\t]*=`);
  const found = lines.findIndex((line, at) => at >= start && at < end && own.test(line));
  return found === -1 ? undefined : found;
}
