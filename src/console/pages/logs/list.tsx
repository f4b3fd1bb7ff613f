import type { RefObject } from "preact";
import type { LogEntry } from "../../../client/index.ts";
import { t } from "../../text/text.ts";
import { Icon } from "../../ui/icons.tsx";
import { VirtualRows } from "../../ui/list.tsx";
import { rich } from "../../ui/rich.tsx";
import { type LogFeed, useFollowing } from "./feed.ts";
import { type MarkedPart, type Row, type Search, segmentsOf } from "./model.ts";

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
