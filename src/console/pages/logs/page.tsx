import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Actions } from "./actions.tsx";
import { Details } from "./details.tsx";
import { LevelBar } from "./level-bar.tsx";
import { lineText } from "./line.ts";
import { EmptyState, List } from "./list.tsx";
import { LogFeed } from "./log-feed.ts";
import { useCursor, useKeys } from "./navigation.ts";
import { IncrementalFilter, ordinalOf, Search } from "./search.ts";
import { isInRange, parseRange, rangeAt } from "./time-range.ts";
import { defaultFilter, FilterBox, SearchBox } from "./toolbar.tsx";

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
