import type { RefObject } from "preact";
import type { LogEntry } from "../../../client/index.ts";
import { linkTo } from "../../route.ts";
import { t } from "../../text/text.ts";
import { IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icons.tsx";
import { VirtualRows } from "../../ui/list.tsx";
import { rich } from "../../ui/rich.tsx";
import { type LogFeed, useFollowing } from "./feed.ts";
import {
  fieldText,
  lineText,
  type MarkedPart,
  methodOf,
  preciseTime,
  type Row,
  type Search,
  segmentsOf,
} from "./model.ts";

interface ListProps {
  readonly feed: LogFeed;
  readonly rows: readonly Row[];
  readonly rowHeight: number;
  readonly search: Search;
  readonly current: Row | undefined;
  readonly scroller: RefObject<HTMLElement | null>;
  readonly onPick: (row: Row) => void;
}

/** Log entries, of which the newest stay in view while the feed is live. */
export function List({ feed, rows, rowHeight, search, current, scroller, onPick }: ListProps) {
  const scrolled = useFollowing(feed, scroller, { count: rows.length, rowHeight });
  return (
    <div class="logs-list">
      <VirtualRows
        class="logs-rows"
        label={t.logs.entries}
        count={rows.length}
        rowHeight={rowHeight}
        scroller={scroller}
        onScroll={scrolled}
        row={(at) => {
          const row = rows[at];
          return (
            row !== undefined && (
              <ListRow
                key={row.id}
                row={row}
                search={search}
                current={row.id === current?.id}
                onPick={onPick}
              />
            )
          );
        }}
      />
      {feed.paused.value && <JumpToEnd feed={feed} />}
    </div>
  );
}

function JumpToEnd({ feed }: { readonly feed: LogFeed }) {
  const waiting = feed.waiting.value;
  return (
    <button type="button" class="button primary logs-to-end" onClick={() => feed.resume()}>
      <Icon name="down" />
      <span>{waiting === 0 ? t.logs.toEnd : t.logs.newToEnd(waiting)}</span>
    </button>
  );
}

/** Longest part of a line that is rendered. The edge of the list cuts lines off long before. */
const maxPartChars = 500;

interface ListRowProps {
  readonly row: Row;
  readonly search: Search;
  readonly current: boolean;
  readonly onPick: (row: Row) => void;
}

function ListRow({ row, search, current, onPick }: ListRowProps) {
  const segments = segmentsOf(row);
  const marked = search.mark(segments);
  const level = row.kind === "entry" ? row.entry.level.toLowerCase() : "drop";
  return (
    <li class={`logs-row ${level}${current ? " current" : ""}`}>
      <button type="button" tabIndex={-1} aria-current={current || undefined} onClick={() => onPick(row)}>
        {segments.map(({ kind }, at) => (
          <span key={at} class={`logs-${kind}`}>
            <MarkedText parts={marked[at] ?? []} />
          </span>
        ))}
      </button>
    </li>
  );
}

function MarkedText({ parts }: { readonly parts: readonly MarkedPart[] }) {
  return parts.map(({ text, marked }, at) =>
    marked ? <mark key={at}>{text.slice(0, maxPartChars)}</mark> : text.slice(0, maxPartChars),
  );
}

/** Says why the list is empty and what to do about it. */
export function EmptyState({
  feed,
  search,
  isRanged,
}: {
  readonly feed: LogFeed;
  readonly search: string;
  readonly isRanged: boolean;
}) {
  return <div class="empty logs-empty">{why(feed, search, isRanged)}</div>;
}

function why(feed: LogFeed, search: string, isRanged: boolean) {
  if (isRanged && feed.shown.value.length > 0) return <p>{t.logs.noneInRange}</p>;
  if (search !== "") return <p>{t.logs.noneContains(search)}</p>;
  if (feed.filter.value === undefined)
    return <p>{feed.filterError.value === undefined ? t.logs.reading : t.logs.correctFilter}</p>;
  if (feed.cleared.value)
    return (
      <>
        <p>{t.logs.cleared}</p>
        <p>{t.logs.keeps}</p>
      </>
    );
  return (
    <>
      <p>{rich(t.logs.noMatches, { filter: <code>{feed.filter.value}</code> })}</p>
      <p>{rich(t.logs.memoryFilter, { key: <code>memory_log_filter</code> })}</p>
    </>
  );
}

const colours: Readonly<Record<LogEntry["level"], string>> = {
  ERROR: "bad",
  WARN: "warn",
  INFO: "good",
  DEBUG: "accent",
  TRACE: "",
};

export function LevelBadge({ level }: Pick<LogEntry, "level">) {
  return <span class={`badge ${colours[level]}`}>{level}</span>;
}

interface DetailsProps {
  readonly row: Row;
  readonly onMove: (by: -1 | 1) => void;
  readonly onClose: () => void;
}

/** All of one entry. Screen readers announce it when another one is selected. */
export function Details({ row, onMove, onClose }: DetailsProps) {
  return (
    <section class="card logs-details" aria-label={t.logs.selected}>
      <header>
        <h2>{t.logs.entry}</h2>
        <IconButton icon="up" label={t.logs.previousEntry} onClick={() => onMove(-1)} />
        <IconButton icon="down" label={t.logs.nextEntry} onClick={() => onMove(1)} />
        <IconButton icon="close" label={t.logs.closeEntry} onClick={onClose} />
      </header>
      <section class="logs-details-text" aria-live="polite" tabIndex={0} aria-label={t.logs.entryContent}>
        {row.kind === "entry" ? <Entry row={row} /> : <p>{lineText(row)}.</p>}
      </section>
    </section>
  );
}

function Entry({ row }: { readonly row: Extract<Row, { kind: "entry" }> }) {
  const { timestamp, level, target, message, fields, spans } = row.entry;
  const named = Object.entries(fields);
  const method = methodOf(row.entry);
  return (
    <>
      <p class="row">
        <LevelBadge level={level} />
        <code>{target}</code>
        <time class="muted" dateTime={timestamp}>
          {preciseTime(timestamp)}
        </time>
      </p>
      <p class="logs-details-message">{message}</p>
      {named.length > 0 && (
        <>
          <h3>{t.logs.fields}</h3>
          <dl class="facts">
            {named.map(([name, value]) => (
              <Fact key={name} name={name} value={pretty(value)} />
            ))}
          </dl>
        </>
      )}
      {spans.length > 0 && (
        <>
          <h3>{t.logs.spans}</h3>
          <ol class="logs-spans">
            {spans.map(({ name, fields: text }, at) => (
              <li key={at}>
                <code>{name}</code> <code class="muted">{text}</code>
              </li>
            ))}
          </ol>
        </>
      )}
      <div class="row">
        {method !== undefined && (
          <a class="button" href={linkTo("api", [method])}>
            <Icon name="api" />
            <span>{t.logs.toMethod(method)}</span>
          </a>
        )}
        <CopyButton text={JSON.stringify(row.entry)} label={t.logs.copyJson} />
      </div>
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>
        <code>{name}</code>
      </dt>
      <dd>
        <code>{value}</code>
      </dd>
    </>
  );
}

function pretty(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : fieldText(value);
}
