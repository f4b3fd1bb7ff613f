import { Fault } from "../../base/fault.ts";
import { FileError, NodeServerClient, PermissionDenied, Unreachable } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { type KnownServer, type KnownServers, knownServer, parseServerUrl, readServers } from "./servers.ts";

/** What every command takes that talks to a server. */
export interface RemoteOptions {
  /** The name of a server that was logged in to, or an address. */
  readonly server?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The server that is meant, and the token for it. */
export async function findServer(
  options: RemoteOptions,
  env: Environment = process.env,
): Promise<KnownServer> {
  const { url, token } = await lookUp(options, env);
  if (token === undefined)
    throw new Fault(
      "Other",
      `there is no token for ${url}: run \`node-server login ${url}\`, or set NODE_SERVER_TOKEN`,
    );
  return { url, token };
}

/** The same for what needs no token. */
export async function findAddress(options: RemoteOptions, env: Environment = process.env): Promise<string> {
  return (await lookUp(options, env)).url;
}

export async function connect(options: RemoteOptions): Promise<NodeServerClient> {
  const { url, token } = await findServer(options);
  return new NodeServerClient(url, { token });
}

/** What scripts go by: refused and unreachable are not the same as failed. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof WrongUsage) return exitCodes.usage;
  if (error instanceof PermissionDenied) return exitCodes.refused;
  if (error instanceof FileError && (error.status === 401 || error.status === 403)) return exitCodes.refused;
  return error instanceof Unreachable ? exitCodes.unreachable : exitCodes.failed;
}

/** What was named wins, then the environment, then the server in use. */
async function lookUp(
  { server }: RemoteOptions,
  env: Environment,
): Promise<{ url: string; token: string | undefined }> {
  const known = await readServers(env);
  const given = env.NODE_SERVER_URL ? parseServerUrl(env.NODE_SERVER_URL) : undefined;
  const url = urlOf(server, given, known);
  const name = server ?? (given === undefined ? known.current : undefined);
  const kept =
    (name === undefined ? undefined : knownServer(known, name)) ??
    Object.values(known.servers).find((other) => other.url === url);
  // A token that the environment gives together with an address must not travel to another server.
  const ownToken = given === undefined || given === url ? env.NODE_SERVER_TOKEN || undefined : undefined;
  return { url, token: ownToken ?? kept?.token };
}

function urlOf(server: string | undefined, given: string | undefined, known: KnownServers): string {
  if (server !== undefined) {
    const url = knownServer(known, server)?.url;
    if (url !== undefined) return url;
    if (/^https?:\/\//i.test(server)) return parseServerUrl(server);
    throw new WrongUsage(`no server is called ${server}; \`node-server servers\` lists those that are known`);
  }
  const url = given ?? (known.current === undefined ? undefined : knownServer(known, known.current)?.url);
  if (url !== undefined) return url;
  throw new Fault(
    "Other",
    Object.keys(known.servers).length === 0
      ? "no server is known: run `node-server login URL`, or set NODE_SERVER_URL and NODE_SERVER_TOKEN"
      : "no server is in use: choose one with `node-server servers use NAME`, or name it with -s",
  );
}
