import { visible } from "../../base/visible-text.ts";
import {
  type ClientOptions,
  type Fetch,
  type NodeServerClient,
  type ResultOf,
  readServerUrl,
  Unreachable,
} from "../../client/index.ts";
import { isLoopback, isUnixAddress } from "../remote/addresses.ts";
import { clientFor, fetchFor, type Target } from "../remote/remote.ts";

const listTimeoutMs = 10_000;

/**
 * ClusterNode is a node as `cluster_nodes` describes it. Everything in it was written by that node, or by whoever can write the
 * database.
 */
export type ClusterNode = ResultOf<"cluster_nodes">["nodes"][number] & {
  /** Whether it is the one that answered. */
  readonly answers: boolean;
};

/** `listNodes` asks a server for the nodes of its cluster, by name. */
export async function listNodes(client: NodeServerClient, signal?: AbortSignal): Promise<ClusterNode[]> {
  const { nodes, answered_by } = await client.call("cluster_nodes", {}, { signal, timeoutMs: listTimeoutMs });
  return nodes.map((node) => ({
    ...node,
    answers: node.uuid === answered_by.uuid && node.boot === answered_by.boot,
  }));
}

/** `keyOf` tells nodes apart: by UUID, and by address should two have the same UUID. A restarted node keeps its key. */
export function keyOf({ uuid, url }: ClusterNode): string {
  return `${uuid} ${url ?? ""}`;
}

/** `labelsOf` names each node by its key: by its own name, with its address where several have the same. */
export function labelsOf(nodes: readonly ClusterNode[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of nodes) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    nodes.map((node) => [
      keyOf(node),
      counts.get(node.name) === 1 ? node.name : `${node.name}(${node.url ?? node.uuid.slice(0, 8)})`,
    ]),
  );
}

/** The time in which a node has to say who it is. */
const identityTimeoutMs = 5000;

/** NamedServer is the server that the user named, with the token for it. */
export type NamedServer = Target & { readonly token: string };

interface NodeTargetOptions {
  /** Whether the token may go over a network without TLS although it did not on its way to the named server. */
  readonly allowHttp: boolean;
  /** True if no other node is alive: then the named server is this node, whatever its address. */
  readonly isOnly: boolean;
}

/** NodeTarget is how one node of a cluster is reached. */
export interface NodeTarget {
  readonly url: string;
  readonly fetch: Fetch;
  /** Makes a client with the token. */
  newClient(options?: Omit<ClientOptions, "token">): NodeServerClient;
  /** Makes a client without the token. */
  newAnonymousClient(options?: Omit<ClientOptions, "token">): NodeServerClient;
}

/** NodeProblem says, for its user, why the token is not sent to a node. */
interface NodeProblem {
  readonly problem: string;
}

/**
 * `nodeTarget` decides whether the token of the named server may be sent to the address of a node, and makes clients for it. Whoever can
 * write the database can write these addresses, so the token never travels less protected than it did to the named server, and never
 * to a loopback address of another machine, which on this one may belong to anybody. A client asks for the UUID, without the token,
 * each time before it sends the token: a mistake in an address, or one that another server got meanwhile, leaks nothing.
 */
export function nodeTarget(
  node: ClusterNode,
  server: NamedServer,
  { allowHttp, isOnly }: NodeTargetOptions,
): NodeTarget | NodeProblem {
  const isNamed = node.answers && (isOnly || isUnixAddress(server.url));
  const url = isNamed ? server.url : node.url;
  if (url === null)
    return {
      problem:
        "it has no address of its own: set node_url in its configuration to the address of the node, not of the balancer",
    };
  const problem = isNamed ? undefined : whyNot(url, server, allowHttp);
  if (problem !== undefined) return { problem };
  const target = { ...server, url, fetch: withoutRedirects(fetchFor(url, server.ca)) };
  const newAnonymousClient: NodeTarget["newAnonymousClient"] = (options = {}) =>
    clientFor({ ...target, token: undefined }, options);
  const anonymous = newAnonymousClient({ timeoutMs: identityTimeoutMs });
  const token = async () => {
    const uuid = await anonymous.call("node-server_uuid");
    if (uuid === node.uuid) return server.token;
    throw new Unreachable(
      `${url} is the address of another node (${visible(uuid)}): node_url must lead to the node itself, not to a balancer`,
    );
  };
  return {
    url,
    fetch: target.fetch,
    newClient: (options = {}) => clientFor(target, { ...options, token }),
    newAnonymousClient,
  };
}

function whyNot(text: string, server: NamedServer, allowHttp: boolean): string | undefined {
  const read = readServerUrl(text);
  const url = "url" in read && /^https?:/.test(read.url) ? new URL(read.url) : undefined;
  if (url === undefined) return `its node_url is not the address of a server (${visible(text)})`;
  const isLocal = isUnixAddress(server.url) || isLoopback(new URL(server.url).hostname);
  if (isLoopback(url.hostname))
    return isLocal
      ? undefined
      : `its address ${visible(text)} works only on its own machine: set its node_url`;
  const isInClear = !isLocal && server.url.startsWith("http:");
  if (url.protocol === "https:" || isInClear || allowHttp) return undefined;
  return `the token would go to ${visible(text)} unencrypted: give the node a certificate and an https node_url, or use --allow-http if you trust the network`;
}

/** A redirect with the status 307 or 308 would take the token along. */
function withoutRedirects(fetch: Target["fetch"]): Target["fetch"] {
  return (url, init) => fetch(url, { ...init, redirect: "manual" });
}
