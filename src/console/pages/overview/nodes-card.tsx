import type { ResultOf } from "../../../client/index.ts";
import { duration, time } from "../../format.ts";
import { t } from "../../text/text.ts";
import { type LoadState, useCall } from "../../ui/call.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { visibleText } from "../../ui/visible-text.tsx";

/** As often as nodes write their state. */
const refreshMs = 10_000;

type Answer = ResultOf<"cluster_nodes">;
type ClusterNode = Answer["nodes"][number];

/** Nodes that use the same database; undefined without the permission. */
export function useNodes(): LoadState<Answer | undefined> {
  return useCall("cluster_nodes", {}, { every: refreshMs });
}

/** Lists the nodes. Nothing is shown for a server alone. */
export function NodesCard({
  nodes: { value, error, reload },
}: {
  readonly nodes: LoadState<Answer | undefined>;
}) {
  if (error === undefined && (value === undefined || value.nodes.length < 2)) return null;
  return (
    <section class="card overview-nodes" aria-labelledby="nodes">
      <h2 id="nodes">{t.overview.nodes}</h2>
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
            {isAnswering(node) && <span class="muted">{t.overview.answersHere}</span>}
            <p class="muted">
              {t.overview.nodeFacts(visibleText(node.version), time(node.since))}
              {node.processes > 1 && t.overview.processes(node.processes)}
              {node.url !== null && rich(t.overview.nodeUrl, { url: <code>{visibleText(node.url)}</code> })}
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

const texts: Readonly<Record<Answer["warnings"][number]["event"], string>> = {
  get "nodes.same_uuid"() {
    return t.overview.sameUuid;
  },
  get "nodes.files_not_shared"() {
    return t.overview.filesNotShared;
  },
};

function stateText({ alive, ready, last_seen }: ClusterNode, now: number): string {
  if (!alive) return t.overview.lostFor(duration(now - last_seen));
  return ready ? t.overview.ready : t.overview.notReady;
}
