import { sentences } from "../../format.ts";
import { route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Page, Skeleton } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { AboutCard } from "./about-card.tsx";
import {
  ActivityCard,
  BucketsCard,
  HooksCard,
  NodesCard,
  ProblemsCard,
  useAudit,
  useNodes,
  useProblems,
} from "./cards.tsx";
import { ChartCard, Tiles, useMetrics } from "./chart-card.tsx";
import { bucketSizes, measureOf } from "./model.ts";
import { ReleaseNotice, StatusCard, useStatus } from "./status-card.tsx";
import "./overview.css";

/** Whether the server is well, what it does, and what happened on it: as much of it as the token may see. */
export default function OverviewPage() {
  const { rights } = useSession();
  const { query } = route.value;
  const range = query.get("range") === "day" ? "day" : "hour";
  const measure = measureOf(query.get("chart"));
  const metrics = useMetrics(range);
  const nodes = useNodes();
  const audit = useAudit();
  const problems = useProblems();
  const status = useStatus();
  const { families, history } = metrics.value ?? {};
  const isDiskLow = status?.reasons.some(({ code }) => code === "disk") ?? false;
  const seesMetrics = rights.may("node-server_metrics");
  const seesLogs = rights.may("log_list");
  return (
    <Page title={t.frame.overview}>
      <StatusCard status={status} />
      <ReleaseNotice />
      {metrics.error !== undefined && <Problem error={metrics.error} retry={metrics.reload} />}
      {history !== undefined && (
        <Tiles hour={history.hour} families={families ?? []} chosen={measure} isDiskLow={isDiskLow} />
      )}
      {history !== undefined && <ChartCard measure={measure} range={range} samples={history[range]} />}
      {seesMetrics && history === undefined && metrics.error === undefined && <Skeleton rows={6} />}
      <div class="cards overview-cards">
        {families !== undefined && rights.seesBuckets && <BucketsCard buckets={bucketSizes(families)} />}
        {seesLogs && <ActivityCard audit={audit} />}
        <NodesCard nodes={nodes} />
        <HooksCard />
        {problems !== undefined && <ProblemsCard feed={problems} />}
      </div>
      {!(seesMetrics && seesLogs) && <p class="muted">{hiddenText(seesMetrics, seesLogs)}</p>}
      <AboutCard isOpen={!(seesMetrics || seesLogs)} />
    </Page>
  );
}

/** Says which parts of the page this token does not get, and which permission shows them. */
function hiddenText(seesMetrics: boolean, seesLogs: boolean): string {
  return sentences(!seesMetrics && t.overview.metricsNeed, !seesLogs && t.overview.logsNeed);
}
