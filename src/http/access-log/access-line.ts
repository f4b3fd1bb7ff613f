import type { Caller } from "../../auth/caller.ts";
import { jsonLine } from "../../base/json.ts";
import { formatTimestamp } from "../../log/entry.ts";
import type { HandlerName } from "../request/request-observer.ts";

/** AccessRecord is what one line of the access log says. */
export interface AccessRecord {
  readonly requestId: string;
  readonly endedAt: Date;
  readonly durationMs: number;
  readonly address: string;
  readonly caller: Caller | undefined;
  /** The host name that the request was sent to, in lower case; empty without a Host header. */
  readonly host: string;
  readonly port: number;
  /** The bucket that the request is for. */
  readonly bucket: string | undefined;
  readonly method: string;
  /** The path of the URL, with a `?` at its end if it had a query. */
  readonly path: string;
  readonly status: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly handler: HandlerName;
  readonly rpcMethods: readonly string[] | undefined;
  readonly referer: string | null;
  readonly userAgent: string | null;
}

/** Bun does not tell the version of the protocol; it is 1.1, but for rare clients of 1.0. */
const protocol = "HTTP/1.1";
/** Clients choose these texts, so they are cut. */
const maxPathChars = 2048;
const maxHeaderChars = 512;

/** AccessFormat is the name of a format. */
export type AccessFormat = "combined" | "vhost_combined" | "json";

/** lineWriter returns the function that writes the lines of a format. */
export function lineWriter(format: AccessFormat): (record: AccessRecord) => string {
  if (format === "json") return jsonRecord;
  const clock = new CommonClock();
  const combined = (record: AccessRecord) => combinedLine(record, clock.format(record.endedAt));
  return format === "combined" ? combined : (record) => `${hostField(record)} ${combined(record)}`;
}

/** The first field of a line that names the host, as Apache writes it. */
function hostField({ host, port }: AccessRecord): string {
  return `${escapeBytes(clip(host, maxHeaderChars)).replaceAll(" ", "\\x20") || "-"}:${port}`;
}

/** Writes a line in the combined format of Apache and nginx, and behind it the duration in seconds and the id. */
function combinedLine(record: AccessRecord, time: string): string {
  const { address, caller, method, path, status, sentBytes, durationMs, requestId } = record;
  const user = caller === undefined ? "-" : escapeBytes(nameOf(caller)).replaceAll(" ", "\\x20") || "-";
  const request = escapeBytes(`${method} ${clip(path, maxPathChars)} ${protocol}`);
  const referer = record.referer === null ? "-" : escapeBytes(withoutQuery(record.referer));
  const agent = record.userAgent === null ? "-" : escapeBytes(clip(record.userAgent, maxHeaderChars));
  const seconds = (durationMs / 1000).toFixed(3);
  return `${address} - ${user} [${time}] "${request}" ${status} ${sentBytes} "${referer}" "${agent}" ${seconds} ${requestId}\n`;
}

/** Writes one JSON object. */
function jsonRecord(record: AccessRecord): string {
  const { caller, endedAt, durationMs, referer, userAgent } = record;
  return jsonLine({
    timestamp: formatTimestamp(endedAt),
    request_id: record.requestId,
    address: record.address,
    token_key: caller?.by === "key" ? caller.key : undefined,
    username: caller?.by === "username" ? caller.username : undefined,
    handler: record.handler,
    host: record.host === "" ? undefined : clip(record.host, maxHeaderChars),
    bucket: record.bucket,
    method: record.method,
    path: clip(record.path, maxPathChars),
    protocol,
    rpc_methods: record.rpcMethods,
    status: record.status,
    received_bytes: record.receivedBytes,
    sent_bytes: record.sentBytes,
    duration_ms: Math.round(durationMs * 1000) / 1000,
    referer: referer === null ? undefined : withoutQuery(referer),
    user_agent: userAgent === null ? undefined : clip(userAgent, maxHeaderChars),
  });
}

function nameOf({ by, key, username }: Caller): string {
  return by === "key" ? key : (username ?? "");
}

/** A query of another site may hold its secrets. */
function withoutQuery(referer: string): string {
  const query = referer.search(/[?#]/);
  return clip(query === -1 ? referer : referer.slice(0, query), maxHeaderChars);
}

function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}...`;
}

/** Escapes quotes, backslashes, control characters and what is not ASCII byte by byte (`\xE9`), as nginx does. */
function escapeBytes(text: string): string {
  // Nearly all texts need nothing, and this is read for every request.
  if (!/[^\x20-\x7e]|["\\]/.test(text)) return text;
  return text.replace(/[^\x20-\x7e]|["\\]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n: number) => String(n).padStart(2, "0");

/** CommonClock writes `16/Nov/2026:09:20:11 +0000`, in local time, anew once a second. */
class CommonClock {
  #second = -1;
  #text = "";

  format(at: Date): string {
    const second = Math.floor(at.getTime() / 1000);
    if (second === this.#second) return this.#text;
    const iso = formatTimestamp(at);
    const offset = iso.slice(-6).replace(":", "");
    this.#second = second;
    this.#text = `${two(at.getDate())}/${months[at.getMonth()]}/${at.getFullYear()}:${iso.slice(11, 19)} ${offset}`;
    return this.#text;
  }
}
