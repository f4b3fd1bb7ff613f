import type { Server } from "bun";
import { type Address, formatAddress } from "../../base/address.ts";
import { atMost } from "../../base/clock.ts";
import { codeOf, Fault, isOutOfDescriptors, messageOf, outOfDescriptors } from "../../base/fault.ts";
import { currentUser, shellQuoted } from "../../base/local-fs/access.ts";
import type { Logger } from "../../log/hub.ts";
import { toFault } from "../../rpc/bodies.ts";
import { plainText, redirect, serviceUnavailable } from "../content/plain.ts";
import { type CloseReason, type RpcSocket, socketIdleSeconds } from "../jsonrpc/rpc-socket.ts";
import { idleSeconds } from "../pipeline.ts";
import { type HttpDeps, type ListenerDeps, Router } from "../routes.ts";
import type { OwnCertificates, Tls } from "./tls.ts";
import {
  bindUnixSocket,
  clearStaleSocket,
  removeOwnSocket,
  type SocketAccess,
  setSocketAccess,
  socketFileOf,
} from "./unix-socket.ts";

/** Unread bytes beyond one answer of the largest size after which a WebSocket client is disconnected. */
const maxBacklogBytes = 16 * 1024 * 1024;

/** BindAddress is where a listener accepts connections. */
export type BindAddress =
  | {
      readonly at: "tcp";
      readonly address: Address;
      /** `auto` for the certificates that the server orders by itself. */
      readonly tls: Tls | "auto" | undefined;
      /** True if other processes of the same user may listen there too; the system divides connections among them. */
      readonly reusePort: boolean;
    }
  | { readonly at: "unix"; readonly path: string; readonly access: SocketAccess };

interface SizeLimits {
  readonly maxMessageBytes: number;
  readonly maxResponseBytes: number;
}

export interface ListenOptions {
  readonly limits: () => SizeLimits;
  readonly log: Logger;
  /** The key, variable or option that has the address, for messages. */
  readonly addressFrom: string;
  /** True if a Unix socket is taken from a process of this server that still runs. */
  readonly takesOver?: boolean | undefined;
  readonly certificates?: OwnCertificates | undefined;
  /** If set, the listener serves nothing itself: it sends clients to https. */
  readonly redirects?: RedirectOptions | undefined;
}

interface RedirectOptions {
  /** The port at which the server speaks https. */
  httpsPort(): number | undefined;
  /** The answer to the challenge of a certificate authority with this token; undefined if none is expected. */
  answerChallenge(token: string): Promise<string | undefined>;
}

/** CutOff counts what was still running when a listener dropped its connections. */
interface CutOff {
  readonly requests: number;
  /** WebSockets on which a call was running. */
  readonly sockets: number;
}

/** Listener accepts connections at one address. Bun's limits are all set here, none is left at its default. */
export class Listener {
  #bindAddress: BindAddress;
  /** The port that is bound, also if any was requested. Bun forgets it when it stops accepting. */
  readonly port: number | undefined;
  /** Those with which it was bound, of the certificates that the server orders by itself. */
  readonly certificates: OwnCertificates["set"];
  readonly #server: Server<RpcSocket>;
  readonly #deps: ListenerDeps;
  /** Identifies the file of a Unix socket. */
  readonly #socketFile: string | undefined;

  private constructor(
    server: Server<RpcSocket>,
    deps: ListenerDeps,
    { bindAddress, certificates }: Pick<Listener, "bindAddress" | "certificates">,
  ) {
    this.#server = server;
    this.#deps = deps;
    this.#bindAddress = bindAddress;
    this.certificates = certificates;
    this.port = server.port;
    if (bindAddress.at === "unix") this.#socketFile = socketFileOf(bindAddress.path);
  }

  static async open(bindAddress: BindAddress, shared: HttpDeps, options: ListenOptions): Promise<Listener> {
    const { limits, addressFrom, takesOver = false } = options;
    if (bindAddress.at === "unix") await clearStaleSocket(bindAddress.path, { takesOver });
    const deps: ListenerDeps = { ...shared, sockets: new Set() };
    try {
      const serve = (binding: Binding) =>
        Bun.serve<RpcSocket>({ ...binding, ...handlers(deps, limits(), options) });
      const certificates = options.certificates?.set;
      const server =
        bindAddress.at === "unix"
          ? bindUnixSocket(bindAddress, (unix) => serve({ unix }))
          : serve(bindingOf(bindAddress, certificates));
      return new Listener(server, deps, { bindAddress, certificates });
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw new Fault(
        "IoError",
        `cannot listen on ${describe(bindAddress)}: ${reasonOf(error, bindAddress, addressFrom)}`,
        {},
        { cause: error },
      );
    }
  }

  get bindAddress(): BindAddress {
    return this.#bindAddress;
  }

  /** The address as it is configured, of a listener that was bound beside another one. */
  forgetSharing(bindAddress: BindAddress & { at: "tcp" }): void {
    this.#bindAddress = bindAddress;
  }

  /** Changes who may connect to a Unix socket. */
  setAccess(bindAddress: BindAddress & { at: "unix" }): void {
    setSocketAccess(bindAddress.path, bindAddress.access);
    this.#bindAddress = bindAddress;
  }

  /** The URL to connect to; `unix:` and the path for a Unix socket. */
  get url(): string {
    if (this.bindAddress.at === "unix") return `unix:${this.bindAddress.path}`;
    const { address, tls } = this.bindAddress;
    return `${tls === undefined ? "http" : "https"}://${formatAddress({ host: address.host, port: this.port ?? address.port })}`;
  }

  /** Applies new limits without closing a connection. */
  applyLimits(options: ListenOptions): void {
    this.#server.reload(handlers(this.#deps, options.limits(), options));
  }

  /** HTTP requests that are being answered. */
  get requests(): number {
    return this.#server.pendingRequests;
  }

  get openSockets(): number {
    return this.#server.pendingWebSockets;
  }

  /** Whether a request or a call over a WebSocket is running. */
  get isBusy(): boolean {
    return this.requests > 0 || this.#busySockets > 0;
  }

  get #busySockets(): number {
    return [...this.#deps.sockets].filter(({ isBusy }) => isBusy).length;
  }

  /** Accepts no new connections; existing ones stay open. Resolves when the last of them is closed. */
  stopAccepting(): Promise<void> {
    const closed = this.#server.stop(false);
    if (this.bindAddress.at === "unix") removeOwnSocket(this.bindAddress.path, this.#socketFile);
    return closed;
  }

  /** Closes connections that have had an answer and sent no next request; returns how many. */
  closeIdleConnections(): number {
    return this.#server.closeIdleConnections();
  }

  /** Lets running requests finish, for `graceMs` at most, then drops every connection that is left. Returns what was cut off. */
  async close(graceMs: number, reason: CloseReason): Promise<CutOff> {
    void this.stopAccepting();
    await atMost(this.#finish(graceMs, reason), { ms: graceMs, clock: this.#deps.clock });
    const cutOff = { requests: this.requests, sockets: this.#busySockets };
    await this.#server.stop(true);
    return cutOff;
  }

  async #finish(graceMs: number, reason: CloseReason): Promise<void> {
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + graceMs;
    await Promise.all([...this.#deps.sockets].map((socket) => socket.close(reason)));
    while (this.requests > 0 && clock.monotonic() < deadline) await clock.sleep(10);
  }
}

/** The suites of TLS 1.2 with forward secrecy and authenticated encryption; those of TLS 1.3 all have both. */
const ciphers = [
  ...["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  ...["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
  ...["ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
].join(":");

type Binding = { readonly unix: string } | ReturnType<typeof bindingOf>;

function bindingOf(
  { address, tls, reusePort }: BindAddress & { at: "tcp" },
  certificates: OwnCertificates["set"],
) {
  return {
    hostname: address.host,
    port: address.port,
    idleTimeout: idleSeconds,
    // Unless asked for, a second program must not listen on the same port: each would get some of the connections.
    reusePort,
    ...(tls === undefined ? {} : { tls: tls === "auto" ? allOf(certificates) : tlsOf(tls) }),
  };
}

/** A client chooses by the name that it asks for (SNI); one that asks for none, or for another, gets the first. */
function allOf(certificates: OwnCertificates["set"]) {
  const { fallback, named = new Map() } = certificates ?? {};
  if (fallback === undefined) throw new TypeError("there is no certificate yet");
  return [tlsOf(fallback), ...Array.from(named, ([serverName, pair]) => ({ serverName, ...tlsOf(pair) }))];
}

function tlsOf({ cert, key }: Pick<Tls, "cert" | "key">) {
  return { cert, key, ciphers };
}

function handlers(deps: ListenerDeps, limits: SizeLimits, { log, redirects }: ListenOptions) {
  const toErrorResponse = (error: unknown) => {
    if (isOutOfDescriptors(error)) return serviceUnavailable(outOfDescriptors);
    const { kind, detail, message } = toFault(error, log);
    if (kind === "DatabaseError") return serviceUnavailable(detail);
    return plainText(500, `500 ${message}`);
  };
  const answer = redirects && ((request: Request) => redirectToHttps(request, redirects));
  const router = new Router(deps, toErrorResponse, answer);
  return {
    development: false,
    // Bodies are bounded where they are read: an upload may be larger than a call.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request: Request, server: Server<RpcSocket>) => router.route(request, server),
    // For what Bun itself fails at, such as opening the file of a response; the router has reported that request already. The request
    // is not known here, and it may have asked to close the connection.
    error: (error: unknown) => {
      const response = toErrorResponse(error);
      response.headers.set("connection", "close");
      return response;
    },
    websocket: {
      data: undefined as unknown as RpcSocket,
      idleTimeout: socketIdleSeconds,
      sendPings: true,
      maxPayloadLength: limits.maxMessageBytes,
      backpressureLimit: limits.maxResponseBytes + maxBacklogBytes,
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      open: (socket: Bun.ServerWebSocket<RpcSocket>) => socket.data.opened(socket),
      message: (socket: Bun.ServerWebSocket<RpcSocket>, message: string | Buffer) =>
        socket.data.received(message),
      ping: (socket: Bun.ServerWebSocket<RpcSocket>) => socket.data.pinged(),
      drain: (socket: Bun.ServerWebSocket<RpcSocket>) => socket.data.drained(),
      close: (socket: Bun.ServerWebSocket<RpcSocket>) => socket.data.closed(),
    },
  };
}

const challengePath = "/.well-known/acme-challenge/";

/** redirectToHttps answers the challenges of certificate authorities, and sends everybody else to the same address of https. */
async function redirectToHttps(request: Request, options: RedirectOptions): Promise<Response> {
  const host = request.headers.get("host") ?? "";
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(request.url))
    return plainText(400, "400 Bad Request: invalid Host header.");
  const url = new URL(request.url);
  const challenge = await challengeAt(url, options);
  if (challenge !== undefined) return plainText(200, challenge, { "cache-control": "no-store" });
  url.protocol = "https:";
  url.port = String(options.httpsPort() ?? "");
  // Browsers would keep a permanent redirect for good, also after the port of https has changed.
  return redirect(308, url.href, { "cache-control": "no-cache" });
}

async function challengeAt(
  { pathname }: URL,
  { answerChallenge }: RedirectOptions,
): Promise<string | undefined> {
  const token = pathname.startsWith(challengePath) ? pathname.slice(challengePath.length) : "";
  // No authority has longer ones.
  return /^[\w-]{1,128}$/.test(token) ? answerChallenge(token) : undefined;
}

function describe(bindAddress: BindAddress): string {
  return bindAddress.at === "unix" ? bindAddress.path : formatAddress(bindAddress.address);
}

function reasonOf(error: unknown, bindAddress: BindAddress, from: string): string {
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return bindAddress.at === "tcp" && bindAddress.reusePort
        ? `another program listens there and does not share the port with the processes of this server; stop it or change ${from}`
        : `another program listens there; stop it or change ${from}`;
    case "EADDRNOTAVAIL":
      return `this machine has no address ${bindAddress.at === "tcp" ? bindAddress.address.host : bindAddress.path}; use 0.0.0.0 for all of its addresses, or one of its own, in ${from}`;
    case "EACCES":
      return bindAddress.at === "tcp" && bindAddress.address.port < 1024
        ? `ports below 1024 need a right that ${currentUser()} does not have; use a port from 1024 on in ${from}, or run the server with \`node-server service install\`, which gives it, or run \`setcap cap_net_bind_service=+ep ${shellQuoted(process.execPath)}\` as root`
        : `the operating system does not allow it; change ${from}`;
    default:
      return messageOf(error);
  }
}
