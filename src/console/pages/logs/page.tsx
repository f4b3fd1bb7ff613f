import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { number, time } from "../../format.ts";
import { replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { save } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { LogFeed } from "./feed.ts";
import { Details, EmptyState, List } from "./list.tsx";
import {
  entryCount,
  IncrementalFilter,
  indexOfId,
  isInRange,
  lineText,
  maxRows,
  ordinalOf,
  parseRange,
  type Row,
  rangeAt,
  Search,
  toJsonLines,
} from "./model.ts";
import { defaultFilter, FilterBox, LevelBar, SearchBox } from "./toolbar.tsx";
import "./logs.css";

export default function LogsPage() {
  const session = useSession();
  const [feed] = useState(() => new LogFeed(session));
  useEffect(() => () => feed.close(), []);
  const { query } = route.value;
  const filter = query.get("filter") ?? defaultFilter;
  useEffect(() => void feed.follow(filter), [filter]);
  const change = (part: Record<string, string>) => replaceQuery({ ...Object.fromEntries(query), ...part });

  const text = query.get("search") ?? "";
  const search = useMemo(() => new Search(text), [text]);
  const rangeName = parseRange(query);
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  const inRange = useMemo(() => {
    const range = rangeAt(rangeName, from, to, Date.now());
    return new IncrementalFilter((row) => isInRange(row, range));
  }, [rangeName, from, to, feed.generation.value]);
  const shown = rangeName === "all" ? feed.shown.value : inRange.update(feed.shown.value);
  const matches = useMemo(
    () => new IncrementalFilter((row) => search.finds(lineText(row))),
    [search, inRange],
  ).update(shown);
  const only = query.get("only") === "1" && !search.isEmpty;
  // Rows for missing entries stay visible: a match may be among the missing.
  const matchesAndGaps = useMemo(
    () => new IncrementalFilter((row) => row.kind !== "entry" || search.finds(lineText(row))),
    [search, inRange],
  );
  const rows = only ? matchesAndGaps.update(shown) : shown;

  const scroller = useRef<HTMLElement>(null);
  const rowHeight = useNarrow() ? 46 : 26;
  const cursor = useCursor(feed, rows, scroller, rowHeight);
  useKeys({
    toggle: () => (feed.paused.value ? feed.resume() : feed.pause()),
    toStart: () => cursor.goTo(rows[0]),
    toEnd: () => feed.resume(),
    move: cursor.move,
    open: () => cursor.setOpen(true),
    close: () => cursor.setOpen(false),
  });
  const status = feed.status.value;
  return (
    <Page title={t.frame.logs} tall actions={<Actions feed={feed} rows={rows} />}>
      <div class="logs-boxes">
        <FilterBox
          filter={filter}
          filterError={feed.filterError.value}
          onApply={(wanted) => (wanted === filter ? void feed.follow(filter) : change({ filter: wanted }))}
        />
        <SearchBox
          text={text}
          only={only}
          found={matches.length}
          at={cursor.row === undefined ? 0 : ordinalOf(matches, cursor.row)}
          onText={(search) => change({ search })}
          onOnly={(checked) => change({ only: checked ? "1" : "" })}
          onStep={(by) => cursor.step(by, matches)}
        />
      </div>
      <LevelBar
        filter={filter}
        onFilter={(wanted) => change({ filter: wanted })}
        range={rangeName}
        from={from}
        to={to}
        onRange={({ range, ...times }) =>
          change({
            range: range === "all" ? "" : range,
            from: range === "custom" ? times.from : "",
            to: range === "custom" ? times.to : "",
          })
        }
      />
      {status.state === "failed" && <Problem error={status.error} retry={() => void feed.follow(filter)} />}
      <div class="logs-body">
        <div class="logs-shown">
          <List
            feed={feed}
            rows={rows}
            rowHeight={rowHeight}
            search={search}
            current={cursor.row}
            scroller={scroller}
            onPick={(row) => {
              cursor.goTo(row);
              cursor.setOpen(true);
              // The clicked row is removed from the DOM when it scrolls out of view, and the focus with it.
              scroller.current?.focus({ preventScroll: true });
            }}
          />
          {rows.length === 0 && (
            <EmptyState feed={feed} search={only ? text : ""} isRanged={rangeName !== "all"} />
          )}
        </div>
        {cursor.open && cursor.row !== undefined ? (
          <Details row={cursor.row} onMove={cursor.move} onClose={() => cursor.setOpen(false)} />
        ) : (
          <p class="unseen" aria-live="polite">
            {cursor.row !== undefined && lineText(cursor.row)}
          </p>
        )}
      </div>
    </Page>
  );
}

const narrow = matchMedia("(max-width: 760px)");

/** Whether the page is as narrow as on a phone. */
function useNarrow(): boolean {
  const [isNarrow, setIsNarrow] = useState(narrow.matches);
  useEffect(() => {
    const changed = () => setIsNarrow(narrow.matches);
    narrow.addEventListener("change", changed);
    return () => narrow.removeEventListener("change", changed);
  }, []);
  return isNarrow;
}

/** Entry count, connection status and buttons beside the title. */
function Actions({ feed, rows }: { readonly feed: LogFeed; readonly rows: readonly Row[] }) {
  const paused = feed.paused.value;
  return (
    <>
      <span class="logs-count muted">{howMany(rows.length, feed.shown.value.length)}</span>
      <Status feed={feed} />
      <Button
        icon={paused ? "play" : "pause"}
        title={t.logs.spaceKey}
        onClick={() => (paused ? feed.resume() : feed.pause())}
      >
        {paused ? t.logs.resume : t.logs.pause}
      </Button>
      <Button
        icon="trash"
        title={t.logs.clearTitle}
        disabled={feed.shown.value.length === 0}
        onClick={() => feed.clear()}
      >
        {t.logs.clear}
      </Button>
      <Button
        icon="download"
        title={t.logs.exportTitle}
        disabled={rows.length === 0}
        onClick={() => save(fileName(), new Blob([toJsonLines(rows)], { type: "application/x-ndjson" }))}
      >
        {t.logs.export}
      </Button>
    </>
  );
}

function howMany(listed: number, all: number): string {
  if (listed < all) return t.logs.listedOf(number(listed), entryCount(all));
  return all < maxRows ? entryCount(all) : t.logs.newest(entryCount(all));
}

function fileName(): string {
  return `log-${time(Date.now()).replace(" ", "-").replaceAll(":", "")}.jsonl`;
}

/** Badge that says whether new entries arrive. */
function Status({ feed }: { readonly feed: LogFeed }) {
  const [kind, word, more] = statusOf(feed);
  return (
    <span role="status" class={`badge ${kind}`} title={more}>
      {word}
    </span>
  );
}

function statusOf(feed: LogFeed): readonly [kind: string, word: string, more: string] {
  const now = feed.status.value;
  if (now.state === "failed") return ["bad", t.logs.stopped, t.logs.noNew];
  if (now.state === "broken") return ["warn", t.logs.reconnecting, now.why];
  if (now.state === "connecting")
    return feed.filterError.value === undefined
      ? ["", t.logs.connecting, t.logs.opening]
      : ["bad", t.logs.stopped, t.logs.invalidFilter];
  return feed.paused.value
    ? ["accent", t.logs.paused, t.logs.heldBack]
    : ["good", t.logs.live, t.logs.appear];
}

interface Cursor {
  readonly row: Row | undefined;
  /** Whether its details are open. */
  readonly open: boolean;
  setOpen(open: boolean): void;
  /** Scrolls a row into view and pauses the feed. */
  goTo(row: Row | undefined): void;
  /** Moves to the row above or below; without a current row, to the first or last visible one. */
  move(by: -1 | 1): void;
  /** Moves to the next or previous row of `among`, and wraps around. */
  step(by: -1 | 1, among: readonly Row[]): void;
}

/** Current row of the list. */
function useCursor(
  feed: LogFeed,
  rows: readonly Row[],
  scroller: RefObject<HTMLElement | null>,
  rowHeight: number,
): Cursor {
  const [row, setRow] = useState<Row>();
  const [open, setOpen] = useState(false);
  useEffect(() => setRow(undefined), [feed.generation.value]);
  const inView = (side: "top" | "bottom") => {
    const { scrollTop, clientHeight } = scroller.current ?? { scrollTop: 0, clientHeight: 0 };
    const at = side === "top" ? Math.ceil(scrollTop / rowHeight) : (scrollTop + clientHeight) / rowHeight - 1;
    return rows[Math.max(0, Math.min(Math.floor(at), rows.length - 1))];
  };
  const goTo = (next: Row | undefined) => {
    if (next === undefined) return;
    feed.pause();
    setRow(next);
    if (scroller.current !== null) reveal(scroller.current, indexOfId(rows, next.id) * rowHeight, rowHeight);
  };
  return {
    row,
    open: open && row !== undefined,
    setOpen,
    goTo,
    move: (by) =>
      goTo(row === undefined ? inView(by < 0 ? "bottom" : "top") : rows[nextIndex(rows, row.id, by)]),
    step: (by, among) => {
      const from = row?.id ?? (inView("top")?.id ?? 0) - 0.5;
      goTo(among.at(nextIndex(among, from, by) % among.length));
    },
  };
}

/** Index of the row after or before an id, whether or not a row has that id. */
function nextIndex(rows: readonly Row[], id: number, by: -1 | 1): number {
  const at = indexOfId(rows, id);
  return by < 0 ? at - 1 : rows[at]?.id === id ? at + 1 : at;
}

function reveal(box: HTMLElement, top: number, height: number): void {
  if (top < box.scrollTop) box.scrollTop = top;
  else box.scrollTop = Math.max(box.scrollTop, top + height - box.clientHeight);
}

interface Keys {
  readonly toggle: () => void;
  readonly toStart: () => void;
  readonly toEnd: () => void;
  readonly move: (by: -1 | 1) => void;
  readonly open: () => void;
  readonly close: () => void;
}

/** Elements that handle these keys themselves. */
const handlesKeys = "input, textarea, select, button, a, dialog, .logs-details";

/** Handles the keys of the list on the whole page, except where the focused element needs them. */
function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, altKey, metaKey } = event;
      if (ctrlKey || altKey || metaKey || !(target instanceof Element)) return;
      if (key === "Escape" && target.closest("dialog, input") === null) return latest.current.close();
      const act = target.closest(handlesKeys) === null ? actionOf(key, latest.current) : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function actionOf(key: string, keys: Keys): (() => void) | undefined {
  switch (key) {
    case " ":
      return keys.toggle;
    case "Home":
      return keys.toStart;
    case "End":
      return keys.toEnd;
    case "ArrowUp":
      return () => keys.move(-1);
    case "ArrowDown":
      return () => keys.move(1);
    case "Enter":
      return keys.open;
    default:
      return undefined;
  }
}
