import { visible } from "../../base/visible-text.ts";
import type { ResultOf } from "../../client/index.ts";
import { command } from "../command.ts";
import { remoteJson } from "../options.ts";
import { connect } from "../remote/remote.ts";
import { timeText } from "../terminal/quantities.ts";
import { timeCell } from "../terminal/table.ts";

type Answer = ResultOf<"cluster_nodes">;
type ClusterNode = Answer["nodes"][number];
type Warning = Answer["warnings"][number];

/** Prints the nodes that use the server's database. */
export const nodes = command({
  name: "nodes",
  summary: "list the nodes that use the server's database; * answered",
  needs: ["cluster_nodes"],
  options: remoteJson,
  async run(options, ctx) {
    const client = await connect(ctx, options);
    const answer = await client.call("cluster_nodes");
    const { answered_by, nodes } = answer;
    const isAnswering = ({ uuid, boot }: ClusterNode) =>
      uuid === answered_by.uuid && boot === answered_by.boot;
    // The clock of the database, not of this machine.
    const now = nodes.find(isAnswering)?.last_seen ?? Date.now();
    return {
      json: answer,
      table: {
        head: ["", "NAME", "STATE", "VERSION", "SINCE", "PROCESSES", "URL", "UUID"],
        rows: nodes.map((node) => [
          isAnswering(node) ? "*" : "",
          node.name,
          stateText(node, now),
          node.version,
          timeCell(ctx, node.since),
          String(node.processes),
          node.url ?? "-",
          node.uuid,
        ]),
      },
      after: answer.warnings.map((warning) => visible(warningText(warning, nodes))),
    };
  },
});

/** `warningText` returns what is wrong between nodes and what to do. */
export function warningText({ event, nodes: uuids }: Warning, nodes: readonly ClusterNode[]): string {
  const names = nodes.filter(({ uuid, alive }) => alive && uuids.includes(uuid)).map(({ name }) => name);
  return event === "nodes.same_uuid"
    ? `warning: nodes with the same server_uuid: ${names.join(", ")}; give each its own, or delete the .uuid file that was copied, and restart`
    : `warning: nodes with different file stores: ${names.join(", ")}; give all the same [files] url, or stop the others`;
}

function stateText({ alive, ready, last_seen }: ClusterNode, now: number): string {
  if (!alive) return `lost for ${timeText((now - last_seen) / 1000)}`;
  return ready ? "ready" : "not ready";
}
