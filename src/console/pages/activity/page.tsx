import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { LogEntry } from "../../../client/index.ts";
import { untilReachable } from "../../connection.ts";
import { ago, number, sentences, time } from "../../format.ts";
import { linkTo, replaceQuery, route } from "../../route.ts";
import { type Session, useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad, useNow } from "../../ui/call.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Feed } from "../../ui/feed.ts";
import { Field } from "../../ui/form.tsx";
import { Page, Skeleton } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { auditKinds } from "./audit-events.ts";
import { Change, searchText, useActors, Who } from "./change.tsx";
import {
  type Actor,
  type Actors,
  type AuditFilter,
  type AuditRow,
  auditRows,
  bucketOf,
  passesFilter,
} from "./model.ts";

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

function StatusBadge({ status: { state } }: { readonly status: Feed["status"]["value"] }) {
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

interface FiltersProps {
  readonly filter: AuditFilter;
  readonly rows: readonly AuditRow[];
  readonly actors: readonly Actor[];
  readonly onChange: (filter: AuditFilter) => void;
}

/** Choice of kind, token and bucket, and a search for text. The choices are in the address, so that they can be linked. */
function Filters({ filter, rows, actors, onChange }: FiltersProps) {
  const buckets = [...new Set(rows.map(bucketOf).filter((name) => name !== undefined))].sort();
  const change = (part: Partial<AuditFilter>) => onChange({ ...filter, ...part });
  return (
    <div class="activity-filters">
      <Field label={t.activity.search}>
        <input
          type="search"
          value={filter.text}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        />
      </Field>
      <Choice
        label={t.activity.kind}
        all={t.activity.allKinds}
        value={filter.kind}
        options={auditKinds.map((kind) => [kind, t.activity.kinds[kind]])}
        onChange={(kind) => change({ kind })}
      />
      <Choice
        label={t.activity.who}
        all={t.activity.anybody}
        value={filter.actor}
        options={actors.map(({ id, label, isSuper }) => [id, isSuper ? t.activity.superToken : label])}
        onChange={(actor) => change({ actor })}
      />
      <Choice
        label={t.activity.bucket}
        all={t.activity.allBuckets}
        value={filter.bucket}
        options={buckets.map((name) => [name, name])}
        onChange={(bucket) => change({ bucket })}
      />
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly all: string;
  readonly value: string;
  readonly options: ReadonlyArray<readonly [value: string, text: string]>;
  readonly onChange: (value: string) => void;
}

function Choice({ label, all, value, options, onChange }: ChoiceProps) {
  // A linked choice may be about something that the list does not have.
  const isListed = value === "" || options.some(([option]) => option === value);
  return (
    <Field label={label}>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{all}</option>
        {!isListed && <option value={value}>{visibleText(value)}</option>}
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {visibleText(text)}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** Pause between two readings of the trail, however many changes happen. */
const pauseMs = 2000;
const logFilter = "audit=info";

/**
 * Live audit trail. The log stream only tells that something was changed; the entries are those of the server's own memory, which counts
 * changes of many files in a row. A hidden tab reads nothing.
 */
class AuditFeed {
  /** Entries in the order of time; undefined until the first reading. */
  readonly entries = signal<readonly LogEntry[] | undefined>(undefined);
  readonly status: Feed["status"];
  readonly #feed: Feed;
  readonly #session: Session;
  readonly #abort = new AbortController();
  #isStale = false;
  #reading: Promise<void> | undefined;

  constructor(session: Session) {
    this.#session = session;
    this.#feed = new Feed(session);
    this.status = this.#feed.status;
    document.addEventListener("visibilitychange", this.#readIfStale, { signal: this.#abort.signal });
  }

  /** Follows the trail until `close`. To be called again after the status `failed`. */
  follow(): Promise<void> {
    return this.#feed.follow({
      filter: logFilter,
      signal: this.#abort.signal,
      onEvent: ({ kind }) => {
        if (kind === "broken") return;
        this.#isStale = true;
        this.#readIfStale();
      },
    });
  }

  close(): void {
    this.#abort.abort();
  }

  readonly #readIfStale = () => {
    if (!this.#isStale || document.hidden || this.#abort.signal.aborted) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
      this.#readIfStale();
    });
  };

  async #read(): Promise<void> {
    const { signal } = this.#abort;
    this.#isStale = false;
    try {
      this.entries.value = await untilReachable(
        () => this.#session.client.call("audit_list", {}, { signal }),
        signal,
      );
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    } catch (error) {
      if (!signal.aborted) this.status.value = { state: "failed", error };
    }
  }
}
