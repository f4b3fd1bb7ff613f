import { readFileSync } from "node:fs";
import { z } from "zod";
import { formatAddress } from "../../base/address.ts";
import { Fault } from "../../base/fault.ts";
import {
  ClientError,
  type ClientOptions,
  eventOf,
  type Fetch,
  NodeServerClient,
  type SubscribeOptions,
} from "../../client/index.ts";
import type { Config } from "../../config/schema.ts";
import type { Tag } from "../../update/release.ts";
import type { Context } from "../context.ts";
import { type CertificateTrust, trustingFetch, trustingSocket } from "../remote/remote.ts";
import { askSecret } from "../terminal/ask.ts";
import { openProgress } from "../terminal/progress.ts";

/**
 * `startProgress` shows the progress of an update until `signal` fires or the server restarts.
 * Resolves when the subscription has begun and throws when it is refused;
 * a later break ends the progress, not the update.
 */
export async function startProgress(
  ctx: Context,
  client: NodeServerClient,
  title: string,
  signal: AbortSignal,
): Promise<void> {
  const connected = Promise.withResolvers<void>();
  const options = { signal, reconnect: false, onConnect: () => connected.resolve() };
  await Promise.race([connected.promise, showProgress(ctx, client, title, options)]);
}

async function showProgress(
  ctx: Context,
  client: NodeServerClient,
  title: string,
  options: SubscribeOptions,
): Promise<void> {
  const shown = openProgress(ctx, title);
  const entries = client.subscribe("node-server_stream_log", { log_filter: "server=info" }, options);
  for await (const entry of entries) {
    const event = eventOf(entry);
    if (event?.event === "update.downloading" && event.bytes !== undefined) shown(event.bytes, event.total);
  }
}

/** ServerAccess are the options of a client that reaches the server of a configuration. */
interface ServerAccess extends Pick<ClientOptions, "WebSocket"> {
  readonly fetch: Fetch;
}

/** RunningServer is the server of a configuration, found running. */
interface RunningServer {
  readonly url: string;
  readonly version: string;
  readonly access: ServerAccess;
}

/** The time that a server may take to restart as another version, once it has drained. */
const restartTimeoutMs = 60_000;
/** The longest `drain_seconds`. */
const maxDrainMs = 3_600_000;
const versionTimeoutMs = 3000;
/** Addresses to reach a server that listens on every interface. */
const loopback: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Returns the address of the server that a configuration describes, as it is reached from this machine. */
export function serverOf({ ws_listener, tls_cert, tls }: Config): { url: string; access: ServerAccess } {
  const host = loopback[ws_listener.host] ?? ws_listener.host;
  const scheme = tls_cert === undefined && !tls.auto ? "http" : "https";
  const url = `${scheme}://${formatAddress({ host, port: ws_listener.port })}`;
  return { url, access: accessTo(tls_cert, { trustsAll: tls.auto }) };
}

/** Returns the running server of a configuration; undefined when none answers. */
export async function findRunning(config: Config): Promise<RunningServer | undefined> {
  const { url, access } = serverOf(config);
  try {
    return { url, version: await versionOf(url, access), access };
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}

/** Asks a running server to update itself, shows the progress, and waits until it runs the new version. */
export async function updateRunning(ctx: Context, { url, access }: RunningServer, tag: Tag): Promise<void> {
  const token =
    ctx.env.NODE_SERVER_TOKEN ??
    ctx.env.NODE_SERVER_SUPER_TOKEN ??
    (await askSecret(ctx, "Super Token (key:secret): "));
  const client = new NodeServerClient(url, { token, ...access });
  const stop = new AbortController();
  try {
    await startProgress(ctx, client, `downloading ${tag.text}`, stop.signal);
    await client.call("node-server_self_update", { tag: tag.text });
    ctx.say("installed; the server restarts");
    await untilRestarted(url, tag, { access });
  } catch (error) {
    throw error instanceof ClientError ? new Fault("Other", error.message) : error;
  } finally {
    stop.abort();
  }
}

/**
 * `untilRestarted` waits until a server that has installed a version runs it. The server has `timeoutMs` for that once it has drained;
 * otherwise this throws. It also throws as soon as the server has restarted and runs another version.
 */
export async function untilRestarted(
  url: string,
  tag: Tag,
  { access, timeoutMs = restartTimeoutMs }: { readonly access: ServerAccess; readonly timeoutMs?: number },
): Promise<void> {
  const installedAt = performance.now();
  const lastDeadline = Date.now() + maxDrainMs + timeoutMs;
  let deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    await Bun.sleep(250);
    const version = await versionOf(url, access).catch(() => undefined);
    if (version === tag.version) return;
    if (version === undefined) continue;
    const sinceInstalledMs = performance.now() - installedAt;
    const state = await healthOf(url, access);
    // The process that installed the version has been up for longer.
    if (state?.version !== tag.version && (state?.uptime_ms ?? Infinity) < sinceInstalledMs)
      throw new Fault(
        "Other",
        `${tag.text} did not start, and the server runs ${version} again; its log says why (event update.reverted)`,
      );
    // Its restart has not begun.
    if (state?.draining) deadline = Math.min(Date.now() + timeoutMs, lastDeadline);
  }
  throw new Fault("Other", `the server did not come back as ${tag.text}; see its log`);
}

/** Returns what a server says of itself; undefined if it does not answer. */
async function healthOf(url: string, { fetch }: ServerAccess): Promise<z.output<typeof health> | undefined> {
  try {
    const response = await fetch(`${url}/node/health`, { signal: AbortSignal.timeout(versionTimeoutMs) });
    return health.safeParse(await response.json()).data;
  } catch {
    // It stops answering when the restart begins.
    return undefined;
  }
}

/** `draining`: it goes on serving before it restarts (`drain_seconds`). */
const health = z.object({ version: z.string(), uptime_ms: z.number(), draining: z.boolean().optional() });

function accessTo(
  certificate: string | undefined,
  { trustsAll }: { readonly trustsAll: boolean },
): ServerAccess {
  // The server's own certificate is trusted, whatever name it is reached by here.
  const own: CertificateTrust | undefined =
    certificate === undefined
      ? undefined
      : { ca: readFileSync(certificate, "utf8"), checkServerIdentity: () => undefined };
  // One that the server has ordered by itself is not at hand. The address is one of this machine, as it is without TLS.
  const tls: CertificateTrust | undefined = trustsAll ? { rejectUnauthorized: false } : own;
  const trusting = tls === undefined ? fetch : trustingFetch(tls);
  return {
    // A download may take longer than the runtime's own time limit.
    fetch: (url, init) => trusting(url, { ...init, timeout: false } as RequestInit),
    WebSocket: tls === undefined ? undefined : trustingSocket(tls),
  };
}

async function versionOf(url: string, access: ServerAccess): Promise<string> {
  const client = new NodeServerClient(url, { ...access, timeoutMs: versionTimeoutMs });
  return (await client.call("node-server_version")).cargo_version;
}
