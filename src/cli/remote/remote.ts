import { readFileSync } from "node:fs";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { build } from "../../build.ts";
import {
  type ClientOptions,
  type Fetch,
  FileError,
  NodeServerClient,
  PermissionDenied,
  type SocketClass,
  Unreachable,
} from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import {
  type KnownServers,
  knownServer,
  parseServerUrl,
  readServers,
  requireServer,
} from "../login/known-servers.ts";
import { Interrupted } from "../terminal/ask.ts";
import { isUnixAddress, UnixWebSocket, unixClientUrl, unixFetch } from "./addresses.ts";

/** Reads the certificates (PEM) of a file. */
export function readCa(ctx: Context, path: string): string {
  let text: string;
  try {
    text = readFileSync(ctx.path(path), "utf8");
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "there is no such file" : messageOf(error);
    throw new WrongUsage(`the certificates in ${path} cannot be read: ${why}; give another file with --ca`);
  }
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new WrongUsage(`${path} contains no certificate in PEM; one begins with -----BEGIN CERTIFICATE-----`);
}

/** CertificateTrust says what a server's certificate is checked against. */
export interface CertificateTrust {
  /** Certificates in PEM; no others are trusted. */
  readonly ca?: string;
  /** Replaces the check that the certificate names the host; undefined accepts it. */
  readonly checkServerIdentity?: () => Error | undefined;
  /** False accepts every certificate: for an address of this machine alone. */
  readonly rejectUnauthorized?: false;
}

export function trustingFetch(tls: CertificateTrust): Fetch {
  return (url, init) => fetch(url, { ...init, tls } as BunFetchRequestInit);
}

export function trustingSocket(tls: CertificateTrust): SocketClass {
  return class extends WebSocket {
    constructor(url: string) {
      super(url, { tls });
    }
  };
}

/** RemoteOptions are the options of every command that talks to a server. */
export interface RemoteOptions {
  /** The name of a server that was logged in to, or an address. */
  readonly server?: string;
  /** A file with the certificates that the server's own is checked against. */
  readonly ca?: string;
}

/** Target is a server to talk to, and how. */
export interface Target {
  /** `https://host:port`, or `unix:` and a path. */
  readonly url: string;
  readonly token: string | undefined;
  /** True if the token was saved by `login`, false if it comes from the environment. */
  readonly isSaved: boolean;
  /** True if a token is saved for the server, used or not. */
  readonly hasLogin: boolean;
  /** Certificates in PEM. */
  readonly ca: string | undefined;
  readonly fetch: Fetch;
}

/** Finds the server of a command and the token for it; throws without a token. */
export async function findServer(
  ctx: Context,
  options: RemoteOptions,
): Promise<Target & { readonly token: string }> {
  const target = await findTarget(ctx, options);
  const { url, token } = target;
  if (token === undefined)
    throw new Fault(
      "Other",
      `there is no token for ${url}: run \`node-server login ${url}\`, or set NODE_SERVER_URL and NODE_SERVER_TOKEN`,
    );
  noteToken(ctx, target);
  return { ...target, token };
}

/** Notes which token is used where both NODE_SERVER_TOKEN and a login are there and no address says which is meant. */
export function noteToken(ctx: Context, { url, isSaved, hasLogin }: Target): void {
  const { env } = ctx;
  if (!env.NODE_SERVER_TOKEN || env.NODE_SERVER_URL || !hasLogin) return;
  ctx.say(
    isSaved
      ? `note: using the token saved for ${url}, not NODE_SERVER_TOKEN; to use the latter, set NODE_SERVER_URL, too`
      : `note: using NODE_SERVER_TOKEN, not the token saved for ${url}`,
  );
}

export async function connect(ctx: Context, options: RemoteOptions): Promise<NodeServerClient> {
  return clientFor(await findServer(ctx, options));
}

/** Makes a client for a server, with its token and certificates. */
export function clientFor(
  { url, token, ca, fetch }: Pick<Target, "url" | "token" | "ca" | "fetch">,
  options: ClientOptions = {},
): NodeServerClient {
  const isUnix = isUnixAddress(url);
  const WebSocket = isUnix ? UnixWebSocket : ca === undefined ? undefined : trustingSocket({ ca });
  const address = isUnix ? unixClientUrl(url) : url;
  const client = new NodeServerClient(address, { token, fetch, WebSocket, ...options });
  fetches.set(client, fetch);
  return client;
}

const fetches = new WeakMap<NodeServerClient, Fetch>();

/** `fetchOf` returns how requests reach the server of a client that `clientFor` made, for addresses of it that are not methods. */
export function fetchOf(client: NodeServerClient): Fetch {
  return fetches.get(client) ?? fetchFor(client.url, undefined);
}

/** Chooses how requests reach an address: through a Unix socket, or with these certificates (PEM) trusted. */
export function fetchFor(url: string, ca: string | undefined): Fetch {
  if (isUnixAddress(url)) return named(unixFetch);
  return named(ca === undefined ? globalThis.fetch : trustingFetch({ ca }));
}

/** Names this program to the server, for its access log. */
function named(fetch: Fetch): Fetch {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set("user-agent", `node-server/${build.cargo_version}`);
    return fetch(url, { ...init, headers });
  };
}

/** As shells report Ctrl+C. */
const interruptedCode = 130;

/** The exit code of an error. Scripts can distinguish refused and unreachable from failed. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof WrongUsage) return exitCodes.usage;
  if (error instanceof Interrupted) return interruptedCode;
  if (error instanceof PermissionDenied) return exitCodes.refused;
  if (error instanceof FileError && (error.status === 401 || error.status === 403)) return exitCodes.refused;
  return error instanceof Unreachable ? exitCodes.unreachable : exitCodes.failed;
}

/**
 * Finds the server of a command, with or without a token.
 *
 * `-s` wins over NODE_SERVER_URL, and that over the server in use; NODE_SERVER_TOKEN wins over the token of a login. A token goes only
 * to the server that it is meant for: that of a login to the server of the login, NODE_SERVER_TOKEN to NODE_SERVER_URL. Without
 * NODE_SERVER_URL it is meant for the server in use, or for an address named with `-s` that has no login: a login that `-s` names
 * has a token of its own.
 */
export async function findTarget(ctx: Context, options: RemoteOptions): Promise<Target> {
  const { env } = ctx;
  const known = await readServers(ctx);
  const paired = env.NODE_SERVER_URL ? parseServerUrl(ctx, env.NODE_SERVER_URL) : undefined;
  const { server } = options;
  const url = urlOf(ctx, server, { paired, known });
  const name = server ?? (paired === undefined ? known.current : undefined);
  const login =
    (name === undefined ? undefined : knownServer(known, name)) ??
    Object.values(known.servers).find((other) => other.url === url);
  const mayUseVariable = paired === undefined ? server === undefined || login === undefined : paired === url;
  const variable = (mayUseVariable && env.NODE_SERVER_TOKEN) || undefined;
  const caPath = options.ca ?? login?.ca;
  const ca = caPath === undefined ? undefined : readCa(ctx, caPath);
  return {
    url,
    token: variable ?? login?.token,
    isSaved: variable === undefined && login !== undefined,
    hasLogin: login !== undefined,
    ca,
    fetch: fetchFor(url, ca),
  };
}

function urlOf(
  ctx: Context,
  server: string | undefined,
  { paired, known }: { readonly paired: string | undefined; readonly known: KnownServers },
): string {
  if (server !== undefined) {
    const isAddress = /^https?:\/\//i.test(server) || isUnixAddress(server);
    return isAddress ? parseServerUrl(ctx, server) : requireServer(known, server).url;
  }
  const url = paired ?? (known.current === undefined ? undefined : knownServer(known, known.current)?.url);
  if (url !== undefined) return url;
  throw new Fault(
    "Other",
    Object.keys(known.servers).length === 0
      ? "no server is saved: run `node-server login URL`, or set NODE_SERVER_URL and NODE_SERVER_TOKEN"
      : "no server is in use: choose one with `node-server servers use NAME`, or name it with -s",
  );
}

/** Calls a method without a time limit: a statement may run longer than Bun's default timeout. */
export function callExactly(
  target: Target,
  method: string,
  params: object,
  signal?: AbortSignal,
): Promise<unknown> {
  const fetch: Fetch = (url, init) => target.fetch(url, { ...init, timeout: false } as RequestInit);
  return clientFor(target, { fetch }).callAny(method, params, { signal });
}
