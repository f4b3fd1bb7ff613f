import { readFileSync } from "node:fs";
import { formatAddress } from "../../base/address.ts";
import { Fault } from "../../base/fault.ts";
import { ClientError, type ClientOptions, type Fetch, NodeServerClient } from "../../client/index.ts";
import type { Config } from "../../config/schema.ts";
import type { Tag } from "../../update/release.ts";
import type { Context } from "../context.ts";
import { NodeFailure, updateNode } from "../nodes/node-update.ts";
import { type CertificateTrust, trustingFetch, trustingSocket } from "../remote/remote.ts";
import { askSecret } from "../terminal/ask.ts";

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
  const newClient = (options?: ClientOptions) => new NodeServerClient(url, { token, ...access, ...options });
  const title = `downloading ${tag.text}`;
  const { signal } = new AbortController();
  try {
    const target = { fetch: access.fetch, newClient };
    await updateNode(ctx, target, { tag, watchMs: 0, signal, groupUuid: undefined, title, say: ctx.say });
  } catch (error) {
    if (!(error instanceof ClientError || error instanceof NodeFailure)) throw error;
    const why = error instanceof NodeFailure ? error.detail : error.message;
    throw new Fault("Other", `the server at ${url}: ${why}`);
  }
}

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
