import type { Server } from "bun";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import { jsonLine } from "../base/json.ts";
import { randomText, wholeNumber } from "../base/numbers.ts";
import { Task } from "../base/task.ts";
import { parseDeployTarget } from "../buckets/history/deploy-record.ts";
import { isBucketName } from "../buckets/record.ts";
import { withoutLinkCodes } from "../links/link-code.ts";
import { formatTimestamp } from "../log/entry.ts";
import type { Logger } from "../log/hub.ts";
import { LogFile } from "../log/log-file.ts";
import type { ClientAddresses } from "./request/client-address.ts";
import { hostNameOf } from "./request/host-name.ts";
import {
  type EndedRequest,
  type HandlerName,
  notesOf,
  type RequestObserver,
  type RequestObservers,
} from "./request/request-observer.ts";

/** Lines are written at this age, or once this many characters wait. */
const flushMs = 1000;
const maxPendingChars = 64 * 1024;

export interface AccessLogSettings {
  readonly path: string;
  readonly format: AccessFormat;
}

interface AccessLogOptions {
  readonly observers: RequestObservers;
  readonly addresses: ClientAddresses;
  /** The name of the bucket at the root of a host. */
  readonly rootBucket: (host: string) => string | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** AccessLog writes one line to a file for every request, while the configuration names one. */
export class AccessLog {
  readonly #options: AccessLogOptions;
  #current: OpenAccessLog | undefined;

  constructor(options: AccessLogOptions) {
    this.#options = options;
  }

  /** Opens the file beside the present one. The caller must call exactly one of the two functions. */
  prepare(settings: AccessLogSettings | undefined): { commit(): void; discard(): void } {
    const next = settings === undefined ? undefined : new OpenAccessLog(settings, this.#options);
    return {
      commit: () => {
        this.close();
        this.#current = next;
        next?.start();
      },
      discard: () => next?.close(),
    };
  }

  close(): void {
    this.#current?.close();
    this.#current = undefined;
  }
}

const arrival = Symbol("arrival");

interface ArrivedRequest extends Request {
  [arrival]?: { readonly address: string; readonly requestId: string };
}

/** OpenAccessLog is an access log with its file. */
class OpenAccessLog implements RequestObserver {
  readonly #file: LogFile;
  readonly #toLine;
  readonly #options: AccessLogOptions;
  #detach: (() => void) | undefined;
  readonly #flushing: Task;
  /** Ids are unique within the log of one server: its start, and a number. */
  readonly #idPrefix = `${randomText(8)}-`;
  #nextId = 1;

  constructor({ path, format }: AccessLogSettings, options: AccessLogOptions) {
    const { log } = options;
    this.#options = options;
    this.#toLine = lineWriter(format);
    this.#flushing = new Task({ clock: options.clock, run: () => this.#file.flush() });
    this.#file = new LogFile({
      path,
      onFailed: (error) =>
        log.event("access_log.failed", "the access log cannot be written", {
          path,
          reason: messageOf(error),
        }),
      onRestored: (dropped) =>
        log.event("access_log.restored", "the access log is written again", { path, dropped }),
    });
  }

  start(): void {
    this.#detach = this.#options.observers.attach(this);
  }

  started(request: ArrivedRequest, server: Server<unknown>): void {
    const { addresses } = this.#options;
    request[arrival] = {
      address: addresses.of(request, server) ?? "unknown",
      requestId: addresses.requestIdOf(request, server) ?? `${this.#idPrefix}${this.#nextId++}`,
    };
  }

  ended(ended: EndedRequest): void {
    const { request } = ended;
    const arrived = (request as ArrivedRequest)[arrival];
    // It arrived before this log was opened.
    if (arrived === undefined) return;
    const { caller, rpcMethods } = notesOf(request);
    const host = hostNameOf(request);
    const path = pathOf(request.url);
    this.#add(
      this.#toLine({
        address: arrived.address,
        requestId: arrived.requestId,
        endedAt: new Date(this.#options.clock.now()),
        durationMs: ended.endedAt - ended.startedAt,
        caller,
        rpcMethods,
        method: ended.method,
        host: host === "[" ? bracketed(request) : host,
        port: portOf(request),
        bucket: this.#bucketOf(ended, { host, path }),
        path: withoutLinkCodes(path),
        status: ended.status,
        receivedBytes: ended.receivedBytes,
        sentBytes: ended.sentBytes,
        handler: ended.handler,
        referer: refererOf(request),
        userAgent: request.headers.get("user-agent"),
      }),
    );
  }

  #bucketOf({ handler }: EndedRequest, at: { readonly host: string; readonly path: string }) {
    if (at.path.startsWith("/node/")) return bucketIn(at.path);
    return handler === "static" ? this.#options.rootBucket(at.host) : undefined;
  }

  close(): void {
    this.#detach?.();
    void this.#flushing.close();
    this.#file.close();
  }

  #add(line: string): void {
    this.#file.add(line);
    if (this.#file.pendingChars > maxPendingChars) this.#file.flush();
    this.#flushing.dueIn(flushMs);
  }
}

function refererOf({ headers }: Request): string | null {
  const referer = headers.get("referer");
  return referer === null ? null : withoutLinkCodes(referer);
}

/** The host of a request that was sent to an address of IPv6. */
function bracketed({ headers }: Request): string {
  const host = headers.get("host") ?? "";
  return host.slice(0, host.indexOf("]") + 1).toLowerCase();
}

/** The port that the Host header names, else that of the scheme. */
function portOf({ headers, url }: Request): number {
  const port = wholeNumber(/:(\d+)$/.exec(headers.get("host") ?? "")?.[1]);
  return port ?? (url.startsWith("https:") ? 443 : 80);
}

/** The name of a bucket, before the id of a deploy, in the paths that have one. */
const bucketPath =
  /^\/node\/(?:static|static-webdav|static-upload|(?:link|preview)\/[^/?]+)\/([\w.%-]{1,400})/;

function bucketIn(path: string): string | undefined {
  const [, name] = bucketPath.exec(path) ?? [];
  if (name === undefined || isBucketName(name)) return name;
  try {
    const decoded = parseDeployTarget(decodeURIComponent(name)).bucket;
    return isBucketName(decoded) ? decoded : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** The path of a URL. Of a query, which may hold the signature of a link, only the `?` is left. */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?");
  return url.slice(Math.max(start, 0), query === -1 ? undefined : query + 1);
}

/** AccessRecord is what one line of the access log says. */
interface AccessRecord {
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
type AccessFormat = "combined" | "vhost_combined" | "json";

/** lineWriter returns the function that writes the lines of a format. */
function lineWriter(format: AccessFormat): (record: AccessRecord) => string {
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
