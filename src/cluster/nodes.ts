import { aliveMs, type NodeRow } from "../db/node-rows.ts";

/** ClusterNode is one node that uses the database, with all of its processes. Times are Unix milliseconds of the database's clock. */
export interface ClusterNode {
  readonly uuid: string;
  readonly boot: string;
  readonly name: string;
  readonly url: string | null;
  readonly version: string;
  readonly since: number;
  readonly last_seen: number;
  readonly alive: boolean;
  readonly ready: boolean;
  readonly files: string;
  readonly processes: number;
}

/** NodesWarning is something wrong between nodes; `event` is the code of its log entry. */
export interface NodesWarning {
  readonly event: "nodes.same_uuid" | "nodes.files_not_shared";
  /** The UUIDs of the nodes that it is about, sorted. */
  readonly nodes: readonly string[];
}

/**
 * `toNodes` makes nodes of the rows, by name. A row that a later start of the same server has replaced is left out: it is of a process that
 * was killed. `alive` is false for a node whose last heartbeat is long ago.
 */
export function toNodes(rows: readonly NodeRow[], nowMs: number): ClusterNode[] {
  const groups = [...Map.groupBy(rows, ({ uuid, boot }) => `${uuid}/${boot}`).values()];
  const nodes = groups.flatMap((group) => toNode(group, nowMs));
  const isReplaced = (node: ClusterNode) =>
    nodes.some((other) => other.uuid === node.uuid && other.boot !== node.boot && follows(other, node));
  return nodes
    .filter((node) => !isReplaced(node))
    .sort((a, b) => compare(a.name, b.name) || compare(a.uuid, b.uuid) || a.since - b.since);
}

/** `findWarnings` compares the nodes that are alive. Those that have not run at the same time do not disturb each other. */
export function findWarnings(nodes: readonly ClusterNode[]): NodesWarning[] {
  const alive = nodes.filter((node) => node.alive);
  const pairs = alive.flatMap((one, at) =>
    alive
      .slice(at + 1)
      .flatMap((other) => (follows(one, other) || follows(other, one) ? [] : [[one, other]])),
  ) as ReadonlyArray<readonly [ClusterNode, ClusterNode]>;
  const twice = pairs.filter(([one, other]) => one.uuid === other.uuid);
  const apart = pairs.filter(([one, other]) => one.files !== other.files || one.files === plainFiles);
  return [...toWarning("nodes.same_uuid", twice), ...toWarning("nodes.files_not_shared", apart)];
}

/** The id of plain files below `static_path`, which no two nodes can share. */
const plainFiles = "disk";

function toWarning(
  event: NodesWarning["event"],
  pairs: ReadonlyArray<readonly [ClusterNode, ClusterNode]>,
): NodesWarning[] {
  if (pairs.length === 0) return [];
  return [{ event, nodes: [...new Set(pairs.flat().map(({ uuid }) => uuid))].sort() }];
}

/** `follows` is whether `one` started after the last heartbeat of `other`. */
function follows(one: ClusterNode, other: ClusterNode): boolean {
  return one.since > other.last_seen;
}

/** The oldest process that is alive speaks for its node: an update restarts it last. */
function toNode(group: readonly NodeRow[], nowMs: number): ClusterNode[] {
  // A time far in the future is from before the clock was set back.
  const alive = group.filter(({ at }) => Math.abs(nowMs - at) < aliveMs);
  const shown = alive.length > 0 ? alive : group;
  const [oldest] = [...shown].sort((a, b) => a.since - b.since);
  if (oldest === undefined) return [];
  const { uuid, boot, name, url, version, files } = oldest;
  return [
    {
      uuid,
      boot,
      name,
      url,
      version,
      since: Math.min(...shown.map(({ since }) => since)),
      last_seen: Math.max(...shown.map(({ at }) => at)),
      alive: alive.length > 0,
      ready: alive.length > 0 && alive.every(({ ready }) => ready),
      files,
      processes: shown.length,
    },
  ];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
