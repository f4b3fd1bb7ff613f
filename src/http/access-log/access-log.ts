import type { Server } from "bun";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/fault.ts";
import { wholeNumber } from "../../base/numbers.ts";
import { randomText } from "../../base/random.ts";
import { parseDeployTarget } from "../../buckets/deploys/deploy-record.ts";
import { isBucketName } from "../../buckets/record.ts";
import { withoutLinkCodes } from "../../links/link-code.ts";
import type { Logger } from "../../log/hub.ts";
import { LogFile, type Rotation } from "../../log/log-file.ts";
import { outsideSpans } from "../../log/span.ts";
import type { ClientAddresses } from "../request/client-address.ts";
import { hostNameOf } from "../request/host-name.ts";
import {
  type EndedRequest,
  notesOf,
  type RequestObserver,
  type RequestObservers,
} from "../request/request-observer.ts";
import { type AccessFormat, lineWriter } from "./access-line.ts";

/** Lines are written when they are so old, or so many. */
const flushMs = 1000;
const maxPendingChars = 64 * 1024;

export interface AccessLogSettings {
  readonly path: string;
  readonly format: AccessFormat;
  readonly rotation: Rotation;
}

export interface AccessLogOptions {
  readonly observers: RequestObservers;
  readonly addresses: ClientAddresses;
  /** The name of the bucket at the root of a host. */
  readonly rootBucket: (host: string) => string | undefined;
  readonly log: Logger;
  readonly clock: Clock;
  /** True if other processes of the server write to the same file. */
  readonly isShared?: boolean;
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

  /** Opens the file again, for log rotation. */
  reopen(): void {
    this.#current?.reopen();
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
  #timer: Disposable | undefined;
  /** Ids are unique within the log of one server: its start, and a number. */
  readonly #idPrefix = `${randomText(8)}-`;
  #nextId = 1;

  constructor({ path, format, rotation }: AccessLogSettings, options: AccessLogOptions) {
    const { log, isShared = false } = options;
    this.#options = options;
    this.#toLine = lineWriter(format);
    this.#file = new LogFile({
      path,
      ...rotation,
      isShared,
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
    this.#file.followPath();
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

  reopen(): void {
    this.#file.reopen();
  }

  close(): void {
    this.#detach?.();
    this.#timer?.[Symbol.dispose]();
    this.#file.close();
  }

  #add(line: string): void {
    this.#file.add(line);
    if (this.#file.pendingChars > maxPendingChars) this.#file.flush();
    // The timer outlives the request, and what it reports is not about it.
    this.#timer ??= outsideSpans(() => this.#options.clock.after(flushMs, () => this.#flush()));
  }

  #flush(): void {
    this.#timer = undefined;
    this.#file.flush();
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
