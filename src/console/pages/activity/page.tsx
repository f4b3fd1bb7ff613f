import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { AuditEntry, LogEntry, ParamsOf } from "../../../client/index.ts";
import { untilReachable } from "../../connection.ts";
import { ago, number, time } from "../../format.ts";
import { linkTo, replaceQuery, route } from "../../route.ts";
import { type Session, useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useNow } from "../../ui/call.tsx";
import { save } from "../../ui/copy.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Feed } from "../../ui/feed.ts";
import { Field } from "../../ui/form.tsx";
import { Page, Skeleton } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { showError } from "../../ui/toasts.tsx";
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
  eventsOf,
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
      <p class="muted">{rich(t.activity.kept, { key: <KeepKey /> })}</p>
      {status.state === "failed" && <Problem error={status.error} retry={follow} />}
      {rows === undefined && status.state !== "failed" && <Skeleton />}
      {rows !== undefined && <Trail feed={feed} rows={rows} actors={actors} />}
    </Page>
  );
}

function KeepKey() {
  const { rights } = useSession();
  const key = <code>keep_audit_days</code>;
  return rights.may("node-server_read_config") ? <a href={linkTo("config")}>{key}</a> : key;
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

interface TrailProps {
  readonly feed: AuditFeed;
  readonly rows: readonly AuditRow[];
  readonly actors: Actors;
}

function Trail({ feed, rows, actors }: TrailProps) {
  const [showsAll, setShowsAll] = useState(false);
  const filter = filterIn(route.value.query);
  const { kind, actor, bucket } = filter;
  const asked: AskedFilter = {
    events: kind === "" ? null : [...eventsOf(kind)],
    by: actor === "" ? null : actors.namesOf(actor),
    bucket: bucket === "" ? null : bucket,
  };
  const shown = rows.filter((row) =>
    passesFilter(row, filter, { actor: actors.of(row).id, text: filter.text && searchText(row, actors) }),
  );
  // What a filter lets through may be older than the entries that were read.
  const key = JSON.stringify(asked);
  useEffect(() => {
    if (`${kind}${actor}${bucket}` !== "") void feed.readOlder(asked).catch(showError);
  }, [key]);
  if (rows.length === 0) return <p class="empty">{t.activity.none}</p>;
  return (
    <>
      <Filters filter={filter} rows={rows} actors={distinctActors(rows, actors)} onChange={showFilter} />
      <div class="activity-count">
        <p class="muted" role="status">
          {t.activity.countShown(shown.length)}
        </p>
        <Button icon="download" title={t.activity.exportTitle} onClick={() => feed.export(asked)}>
          {t.activity.export}
        </Button>
      </div>
      {shown.length === 0 ? (
        <p class="empty">
          {t.activity.noneMatch} <Button onClick={() => replaceQuery({})}>{t.activity.clear}</Button>
        </p>
      ) : (
        <RowTable rows={showsAll ? shown : shown.slice(0, maxShown)} actors={actors} />
      )}
      <div class="row">
        {!showsAll && shown.length > maxShown && (
          <Button onClick={() => setShowsAll(true)}>{t.activity.showAll(number(shown.length))}</Button>
        )}
        {feed.hasOlder(asked) && (
          <Button
            onClick={() => {
              setShowsAll(true);
              return feed.readOlder(asked);
            }}
          >
            {t.activity.older}
          </Button>
        )}
      </div>
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
      cell: ({ entry }) =>
        [entry.fields.address ?? "", ...nodeOf(entry)].map((part) => visibleText(String(part))).join(" · "),
    },
  ];
  const names = new Set(rows.flatMap(({ entry }) => (isTrailEntry(entry) ? [entry.node] : [])));
  const nodeOf = (entry: LogEntry) => (names.size > 1 && isTrailEntry(entry) ? [entry.node] : []);
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

function isTrailEntry(entry: LogEntry): entry is AuditEntry {
  return "node" in entry;
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
/** The newest entries, which are read after each change; and those that one reading of older ones brings. */
const newestCount = 300;
const olderCount = 1000;

/** AskedFilter is what the server filters by. */
type AskedFilter = Pick<ParamsOf<"audit_list">, "events" | "by" | "bucket">;

/**
 * Live audit trail. The log stream only tells that something was changed; the entries are those of the server, which counts changes of many
 * files in a row. A hidden tab reads nothing.
 */
class AuditFeed {
  /** Entries in the order of time; undefined until the first reading. */
  readonly entries = signal<readonly AuditEntry[] | undefined>(undefined);
  readonly status: Feed["status"];
  readonly #feed: Feed;
  readonly #session: Session;
  readonly #abort = new AbortController();
  #isStale = false;
  #reading: Promise<void> | undefined;
  /** The oldest entry that was read, by what was asked for; null if the server has no older one. */
  readonly #oldest = new Map<string, string | null>();

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

  hasOlder(filter: AskedFilter): boolean {
    return this.#oldestFor(filter) !== null;
  }

  async readOlder(filter: AskedFilter): Promise<void> {
    const before = this.#oldestFor(filter);
    if (before === null) return;
    const { signal } = this.#abort;
    const found = await this.#session.client.call(
      "audit_list",
      { ...filter, before, limit: olderCount },
      { signal },
    );
    this.#oldest.set(JSON.stringify(filter), found.length < olderCount ? null : (found[0]?.id ?? null));
    this.#add(found);
  }

  /** Downloads all entries that the filter lets through, as JSON lines. */
  async export(filter: AskedFilter): Promise<void> {
    const parts: string[] = [];
    for (let before: string | undefined; ; ) {
      const found = await this.#session.client.call(
        "audit_list",
        { ...filter, before: before ?? null, limit: olderCount },
        { signal: this.#abort.signal },
      );
      parts.unshift(found.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
      before = found[0]?.id;
      if (found.length < olderCount) break;
    }
    save("activity.jsonl", new Blob(parts, { type: "application/jsonl" }));
  }

  close(): void {
    this.#abort.abort();
  }

  /** The id from which to read on; undefined to begin with the newest. */
  #oldestFor(filter: AskedFilter): string | null | undefined {
    return this.#oldest.get(JSON.stringify(filter)) === undefined
      ? this.#oldest.get("newest")
      : this.#oldest.get(JSON.stringify(filter));
  }

  #add(found: readonly AuditEntry[]): void {
    const known = new Map((this.entries.value ?? []).map((entry) => [entry.id, entry]));
    for (const entry of found) known.set(entry.id, entry);
    this.entries.value = [...known.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
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
      const found = await untilReachable(
        () => this.#session.client.call("audit_list", { limit: newestCount }, { signal }),
        signal,
      );
      const known = this.entries.value?.at(-1)?.id;
      const first = found[0]?.id;
      // Between what is known and what was read there may be others.
      const hasGap =
        known === undefined || (found.length === newestCount && first !== undefined && first > known);
      if (hasGap) {
        this.entries.value = [];
        this.#oldest.clear();
        this.#oldest.set("newest", found.length < newestCount ? null : (first ?? null));
      }
      this.#add(found);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    } catch (error) {
      if (!signal.aborted) this.status.value = { state: "failed", error };
    }
  }
}
