import type { NodeServerClient, ResultOf } from "../../client/index.ts";

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
