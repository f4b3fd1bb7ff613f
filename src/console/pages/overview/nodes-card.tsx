import { useEffect } from "preact/hooks";
import type { ResultOf } from "../../../client/index.ts";
import { duration, time } from "../../format.ts";
import { useSession } from "../../session.ts";
import { useLoad } from "../../ui/load.ts";
import { Problem } from "../../ui/problem.tsx";
import { visibleText } from "../../ui/visible-text.tsx";

/** As often as nodes write their state. */
const refreshMs = 10_000;

type Answer = ResultOf<"cluster_nodes">;
type ClusterNode = Answer["nodes"][number];

/** Nodes that use the same database. Nothing is shown for a server alone. */
export function NodesCard() {
  const { client } = useSession();
  const { value, error, reload } = useLoad(
    (signal) => client.call("cluster_nodes", {}, { signal }),
    [client],
  );
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), refreshMs);
    return () => clearInterval(timer);
  }, []);
  if (error === undefined && (value === undefined || value.nodes.length < 2)) return null;
  return (
    <section class="card overview-nodes" aria-labelledby="nodes">
      <h2 id="nodes">Nodes</h2>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value !== undefined && <Nodes answer={value} />}
    </section>
  );
}

function Nodes({ answer: { answered_by, nodes, warnings } }: { readonly answer: Answer }) {
  const isAnswering = ({ uuid, boot }: ClusterNode) => uuid === answered_by.uuid && boot === answered_by.boot;
  // The clock of the database, not of this browser.
  const now = nodes.find(isAnswering)?.last_seen ?? 0;
  return (
    <>
      {warnings.map(({ event }) => (
        <p key={event} class="notice">
          {texts[event]}
        </p>
      ))}
      <ul>
        {nodes.map((node) => (
          <li key={`${node.uuid}/${node.boot}`}>
            <strong title={node.uuid}>{visibleText(node.name)}</strong> {stateText(node, now)}
            {isAnswering(node) && <span class="muted">, answers this console</span>}
            <p class="muted">
              Version {visibleText(node.version)} since {time(node.since)}
              {node.processes > 1 && `, ${node.processes} processes`}
              {node.url !== null && (
                <>
                  , <code>{visibleText(node.url)}</code>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

const texts: Readonly<Record<Answer["warnings"][number]["event"], string>> = {
  "nodes.same_uuid":
    "Two nodes have the same UUID: delete the .uuid file that was copied, or set another server_uuid, and restart that node.",
  "nodes.files_not_shared":
    "The nodes do not share one store of files, so each serves its own: give all the same [files] url, or stop the others.",
};

function stateText({ alive, ready, last_seen }: ClusterNode, now: number): string {
  if (!alive) return `lost for ${duration(now - last_seen)}`;
  return ready ? "ready" : "not ready";
}
