import { useEffect, useState } from "preact/hooks";
import type { LogEntry, ResultOf } from "../../../client/index.ts";
import { ago, bytes, duration, sentences, time } from "../../format.ts";
import { linkTo } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { type LoadState, useCall } from "../../ui/call.tsx";
import { FileName } from "../../ui/file-name.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { Change, useActors, Who } from "../activity/change.tsx";
import { auditRows } from "../activity/model.ts";
import { LogFeed } from "../logs/feed.ts";
import { LevelBadge } from "../logs/list.tsx";
import type { Row } from "../logs/model.ts";
import { entryCount, fieldPairs, lineText, preciseTime } from "../logs/model.ts";
import type { BucketSize } from "./model.ts";

const maxBuckets = 6;

/** The largest buckets. */
export function BucketsCard({ buckets }: { readonly buckets: readonly BucketSize[] }) {
  const total = buckets.reduce((sum, bucket) => sum + bucket.bytes, 0);
  const largest = buckets[0]?.bytes ?? 0;
  return (
    <section class="card overview-buckets" aria-labelledby="buckets">
      <header>
        <h2 id="buckets">{t.overview.bucketsBySize}</h2>
        <a href={linkTo("buckets")}>{t.overview.allBuckets}</a>
      </header>
      {buckets.length === 0 ? (
        <p class="muted">{t.overview.noBuckets}</p>
      ) : (
        <>
          <p class="muted">{t.overview.bucketsTotal(buckets.length, bytes(total))}</p>
          <ul>
            {buckets.slice(0, maxBuckets).map(({ name, files, bytes: size }) => (
              <li key={name}>
                <a href={linkTo("buckets", [name])}>
                  <FileName name={name} />
                </a>
                <span class="muted">{t.frame.countFiles(files)}</span>
                <span class="number">{bytes(size)}</span>
                <div class="overview-track">
                  <div
                    class="overview-bar"
                    style={{ width: `${largest === 0 ? 0 : (100 * size) / largest}%` }}
                  />
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const changesRefreshMs = 10_000;
const maxChanges = 8;
/** Many entries about files become one line. */
const maxRead = 200;

/** The newest audit entries; undefined without the permission. */
export function useAudit(): LoadState<readonly LogEntry[] | undefined> {
  return useCall("audit_list", { limit: maxRead }, { every: changesRefreshMs });
}

/** The newest changes, and who made them. */
export function ActivityCard({ audit }: { readonly audit: LoadState<readonly LogEntry[] | undefined> }) {
  const { value, error, reload } = audit;
  const rows = auditRows(value ?? []).slice(0, maxChanges);
  const actors = useActors(rows);
  return (
    <section class="card overview-activity" aria-labelledby="activity">
      <header>
        <h2 id="activity">{t.overview.recentActivity}</h2>
        <a href={linkTo("activity")}>{t.overview.allActivity}</a>
      </header>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value !== undefined && rows.length === 0 && <p class="muted">{t.activity.none}</p>}
      {rows.length > 0 && (
        <ol>
          {rows.map((row) => (
            <li key={row.key}>
              <div>
                <Change row={row} actors={actors} />
              </div>
              <div class="muted">
                <Who row={row} actors={actors} />
                {" · "}
                <time dateTime={row.entry.timestamp} title={time(row.at)}>
                  {ago(row.at)}
                </time>
              </div>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/** As often as nodes write their state. */
const nodesRefreshMs = 10_000;

type Answer = ResultOf<"cluster_nodes">;
type ClusterNode = Answer["nodes"][number];

/** Nodes that use the same database; undefined without the permission. */
export function useNodes(): LoadState<Answer | undefined> {
  return useCall("cluster_nodes", {}, { every: nodesRefreshMs });
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
          {event === "nodes.same_uuid" ? t.overview.sameUuid : t.overview.filesNotShared}
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

function stateText({ alive, ready, last_seen }: ClusterNode, now: number): string {
  if (!alive) return t.overview.lostFor(duration(now - last_seen));
  return ready ? t.overview.ready : t.overview.notReady;
}

type Webhook = ResultOf<"hooks_list">[number];

const hooksRefreshMs = 30_000;

/** The webhooks of the configuration and how they are doing; nothing where there are none, or the token may not know. */
export function HooksCard() {
  const { value } = useCall("hooks_list", {}, { every: hooksRefreshMs });
  if (value === undefined || value.length === 0) return null;
  return (
    <section class="card overview-nodes" aria-labelledby="hooks">
      <h2 id="hooks">{t.overview.hooks}</h2>
      <ul>
        {value.map((hook) => (
          <li key={hook.hook}>
            <strong title={hook.hook}>{visibleText(hook.url)}</strong>{" "}
            {hook.failures > 0 ? t.overview.hookFails : t.overview.hookWorks}
            <p class="muted">{hookFacts(hook)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function hookFacts({ delivered, waiting, lost, problem, failures, retry_at }: Webhook): string {
  const facts = [t.overview.hookCounts(delivered, waiting, lost)];
  if (problem !== undefined) {
    const why = visibleText(`${problem.reason} ${problem.status ?? ""}`.trim());
    facts.push(t.overview.hookProblem(time(problem.at), why));
  }
  if (failures > 0 && retry_at !== undefined) facts.push(t.overview.hookRetry(time(retry_at)));
  return sentences(...facts);
}

const filter = "warn";
const maxProblems = 8;
const maxRowsInMemory = 500;

/** Warnings and errors, live; undefined without the permission. */
export function useProblems(): LogFeed | undefined {
  const session = useSession();
  const isAllowed = session.rights.may("log_stream");
  const [feed] = useState(() => (isAllowed ? new LogFeed(session, maxRowsInMemory) : undefined));
  useEffect(() => {
    void feed?.follow(filter);
    return () => feed?.close();
  }, []);
  return feed;
}

/** Newest warnings and errors. */
export function ProblemsCard({ feed }: { readonly feed: LogFeed }) {
  const read = () => void feed.follow(filter);
  const rows = feed.shown.value;
  const status = feed.status.value;
  return (
    <section class="card overview-problems" aria-labelledby="problems">
      <header>
        <h2 id="problems">{t.overview.problems}</h2>
        <a href={linkTo("logs", [], { filter })}>{t.overview.openInLogs}</a>
      </header>
      {status.state === "failed" && <Problem error={status.error} retry={read} />}
      <p class="muted" role="status">
        {sentences(
          status.state === "connecting" ? t.overview.readingLog : summary(rows.length),
          status.state === "broken" && t.overview.waitsForServer,
        )}
      </p>
      {rows.length > 0 && (
        <ol>
          {rows
            .slice(-maxProblems)
            .reverse()
            .map((row) => (
              <ProblemRow key={row.id} row={row} />
            ))}
        </ol>
      )}
    </section>
  );
}

function summary(count: number): string {
  if (count === 0) return t.overview.noProblems;
  return count <= maxProblems ? entryCount(count) : t.overview.newestOf(entryCount(count));
}

function ProblemRow({ row }: { readonly row: Row }) {
  if (row.kind !== "entry") return <li>{lineText(row)}</li>;
  const { level, target, message, timestamp, fields } = row.entry;
  const { event: _code, ...facts } = fields;
  return (
    <li>
      <LevelBadge level={level} /> <code>{target}</code>{" "}
      <time class="muted" dateTime={timestamp}>
        {preciseTime(timestamp)}
      </time>
      <p>
        {message} <span class="muted">{visibleText(fieldPairs(facts))}</span>
      </p>
    </li>
  );
}
