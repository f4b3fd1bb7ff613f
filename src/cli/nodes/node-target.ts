import { visible } from "../../base/visible-text.ts";
import {
  type ClientOptions,
  type Fetch,
  type NodeServerClient,
  readServerUrl,
  Unreachable,
} from "../../client/index.ts";
import { isLoopback } from "../remote/loopback.ts";
import { clientFor, fetchFor, type Target } from "../remote/remote.ts";
import { isUnixAddress } from "../remote/unix.ts";
import type { ClusterNode } from "./cluster-nodes.ts";

/** The time in which a node has to say who it is. */
const identityTimeoutMs = 5000;

/** NamedServer is the server that the user named, with the token for it. */
export type NamedServer = Target & { readonly token: string };

export interface NodeTargetOptions {
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
export interface NodeProblem {
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
