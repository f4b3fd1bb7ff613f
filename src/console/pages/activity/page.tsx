import { useEffect, useMemo, useState } from "preact/hooks";
import { ago, number, sentences, time } from "../../format.ts";
import { linkTo, replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { useNow } from "../../ui/now.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { visibleText } from "../../ui/visible-text.tsx";
import type { Actor, Actors } from "./actors.ts";
import { AuditFeed, type AuditStatus } from "./audit-feed.ts";
import { type AuditFilter, type AuditRow, auditRows, passesFilter } from "./audit-rows.ts";
import { Change, searchText, Who } from "./change.tsx";
import { Filters } from "./filters.tsx";
import { useActors } from "./use-actors.ts";

/** Rows shown before "Show all": more take long to draw, and are rarely looked at. */
const maxShown = 200;

/** The audit trail: who changed what, when, and from where. */
export default function ActivityPage() {
  const session = useSession();
  const [feed] = useState(() => new AuditFeed(session));
  const follow = () => void feed.follow();
  useEffect(() => {
    follow();
    return () => feed.close();
  }, []);
  const entries = feed.entries.value;
  const status = feed.status.value;
  const rows = useMemo(() => entries && auditRows(entries), [entries]);
  const actors = useActors(rows);
  return (
    <Page title={t.frame.activity} actions={<StatusBadge status={status} />}>
      <Memory />
      {status.state === "failed" && <Problem error={status.error} retry={follow} />}
      {rows === undefined && status.state !== "failed" && <Skeleton />}
      {rows !== undefined && <Trail rows={rows} actors={actors} />}
    </Page>
  );
}

/** Says what the list holds, and where the rest is. */
function Memory() {
  const { client, rights } = useSession();
  const { value } = useLoad(
    async (signal) => Date.now() - (await client.call("node-server_uptime", {}, { signal })),
    [client],
  );
  const key = <code>json_log_file</code>;
  const memory = value === undefined ? t.activity.memoryUnknown : t.activity.memory(time(value));
  return (
    <p class="muted">
      {rich(sentences(memory, t.activity.wholeTrail), {
        key: rights.may("node-server_read_config") ? <a href={linkTo("config")}>{key}</a> : key,
      })}
    </p>
  );
}

function StatusBadge({ status: { state } }: { readonly status: AuditStatus }) {
  if (state === "failed") return null;
  const isLive = state === "live";
  return (
    <span class={isLive ? "badge good" : "badge"} role="status">
      {isLive ? t.activity.live : t.activity[state]}
    </span>
  );
}

function Trail({ rows, actors }: { readonly rows: readonly AuditRow[]; readonly actors: Actors }) {
  const [showsAll, setShowsAll] = useState(false);
  const filter = filterIn(route.value.query);
  const shown = rows.filter((row) =>
    passesFilter(row, filter, { actor: actors.of(row).id, text: filter.text && searchText(row, actors) }),
  );
  if (rows.length === 0) return <p class="empty">{t.activity.none}</p>;
  return (
    <>
      <Filters filter={filter} rows={rows} actors={distinctActors(rows, actors)} onChange={showFilter} />
      <p class="muted" role="status">
        {t.activity.countShown(shown.length)}
      </p>
      {shown.length === 0 ? (
        <p class="empty">
          {t.activity.noneMatch} <Button onClick={() => replaceQuery({})}>{t.activity.clear}</Button>
        </p>
      ) : (
        <RowTable rows={showsAll ? shown : shown.slice(0, maxShown)} actors={actors} />
      )}
      {!showsAll && shown.length > maxShown && (
        <div>
          <Button onClick={() => setShowsAll(true)}>{t.activity.showAll(number(shown.length))}</Button>
        </div>
      )}
    </>
  );
}

function RowTable({ rows, actors }: { readonly rows: readonly AuditRow[]; readonly actors: Actors }) {
  useNow();
  const columns: ReadonlyArray<Column<AuditRow>> = [
    {
      id: "when",
      title: t.activity.when,
      cell: ({ entry, at }) => (
        <time dateTime={entry.timestamp} title={time(at)}>
          {ago(at)}
        </time>
      ),
    },
    { id: "who", title: t.activity.who, cell: (row) => <Who row={row} actors={actors} /> },
    { id: "what", title: t.activity.what, cell: (row) => <Change row={row} actors={actors} /> },
    {
      id: "from",
      title: t.activity.from,
      kind: "muted",
      cell: ({ entry }) => visibleText(String(entry.fields.address ?? "")),
    },
  ];
  return (
    <DataTable
      label={t.activity.caption}
      class="activity-table"
      stacks
      columns={columns}
      rows={rows}
      keyOf={({ key }) => key}
    />
  );
}

function distinctActors(rows: readonly AuditRow[], actors: Actors): readonly Actor[] {
  const found = new Map<string, Actor>();
  for (const row of rows) {
    const actor = actors.of(row);
    if (actor.id !== "") found.set(actor.id, actor);
  }
  return [...found.values()].sort((a, b) => a.label.localeCompare(b.label));
}

function filterIn(query: URLSearchParams): AuditFilter {
  const text = (key: string) => query.get(key) ?? "";
  return { kind: text("kind"), actor: text("token"), bucket: text("bucket"), text: text("text") };
}

function showFilter({ kind, actor, bucket, text }: AuditFilter): void {
  replaceQuery({ kind, token: actor, bucket, text });
}
