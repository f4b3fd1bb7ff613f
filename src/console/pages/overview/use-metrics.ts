import { useRef } from "preact/hooks";
import type { MetricFamily } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { type LoadState, useLoad } from "../../ui/call.tsx";
import { addAnswer, type History, type Range, sinceFor } from "./history.ts";
import { wantedSeries } from "./measures.ts";

/** As often as the server measures. */
const refreshMs = 10_000;

export interface MetricsView {
  readonly families: readonly MetricFamily[];
  readonly history: History;
}

/** Present values and history, refreshed while the tab is visible; only new values are transferred. Undefined without the permission. */
export function useMetrics(range: Range): LoadState<MetricsView | undefined> {
  const { client, rights } = useSession();
  const isAllowed = rights.may("node-server_metrics");
  const history = useRef<History>(undefined);
  return useLoad(
    async (signal) => {
      if (!isAllowed) return undefined;
      const since = sinceFor(history.current, range, Date.now());
      const answer = await client.call(
        "node-server_metrics",
        { since, series: [...wantedSeries] },
        { signal },
      );
      history.current = addAnswer(history.current, answer, since);
      return { families: answer.metrics, history: history.current };
    },
    [client, isAllowed, range],
    { every: refreshMs },
  );
}
