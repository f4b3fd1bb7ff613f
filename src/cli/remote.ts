import { Fault } from "../base/fault.ts";
import { FileError, NodeServerClient, PermissionDenied, Unreachable } from "../client/index.ts";
import { exitCodes } from "./command.ts";
import { type KnownServer, readServers } from "./servers.ts";

/** What every command takes that talks to a server. */
export interface RemoteOptions {
  /** The name of a server that was logged in to, or an address. */
  readonly server?: string;
}

/** The server that is meant: the environment wins, then what was named, then the one logged in to last. */
export async function findServer({ server }: RemoteOptions, env = process.env): Promise<KnownServer> {
  const known = await readServers(env);
  const name = server ?? (env.NODE_SERVER_URL === undefined ? known.current : undefined);
  const found = name === undefined ? undefined : known.servers[name];
  const url = found?.url ?? (name !== undefined && /^https?:\/\//.test(name) ? name : env.NODE_SERVER_URL);
  if (url === undefined)
    throw new Fault(
      "Other",
      name === undefined
        ? "no server is known: run `node-server login URL`, or set NODE_SERVER_URL and NODE_SERVER_TOKEN"
        : `no server is called ${name}; \`node-server servers\` lists those that are known`,
    );
  const sameUrl = Object.values(known.servers).find((other) => other.url === url);
  const token = env.NODE_SERVER_TOKEN ?? found?.token ?? sameUrl?.token;
  if (token === undefined)
    throw new Fault(
      "Other",
      `there is no token for ${url}: run \`node-server login ${url}\`, or set NODE_SERVER_TOKEN`,
    );
  return { url, token };
}

export async function connect(options: RemoteOptions): Promise<NodeServerClient> {
  const { url, token } = await findServer(options);
  return new NodeServerClient(url, { token });
}

/** What scripts go by: refused and unreachable are not the same as failed. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof PermissionDenied) return exitCodes.refused;
  if (error instanceof FileError && (error.status === 401 || error.status === 403)) return exitCodes.refused;
  return error instanceof Unreachable ? exitCodes.unreachable : exitCodes.failed;
}
