import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { replaceQuery, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Actions } from "./actions.tsx";
import { useCursor } from "./cursor.ts";
import { Details } from "./details.tsx";
import { FilterBox, usualFilter } from "./filter-box.tsx";
import { useKeys } from "./keys.ts";
import { lineOf } from "./line.ts";
import { List } from "./list.tsx";
import { useNarrow } from "./narrow.ts";
import { Nothing } from "./nothing.tsx";
import { Reading } from "./reading.ts";
import { numberIn, Search, Sieve } from "./search.ts";
import { SearchBox } from "./search-box.tsx";

export default function LogsPage() {
  const session = useSession();
  const [reading] = useState(() => new Reading(session));
  useEffect(() => () => reading.close(), []);
  const { query } = route.value;
  const filter = query.get("filter") ?? usualFilter;
  useEffect(() => void reading.follow(filter), [filter]);
  const change = (part: Record<string, string>) => replaceQuery({ ...Object.fromEntries(query), ...part });

  const text = query.get("search") ?? "";
  const search = useMemo(() => new Search(text), [text]);
  const shown = reading.shown.value;
  const matches = useMemo(() => new Sieve((row) => search.finds(lineOf(row))), [search]).update(shown);
  const only = query.get("only") === "1" && !search.isEmpty;
  // Where entries are missing a match may be missing too.
  const sieve = useMemo(
    () => new Sieve((row) => row.kind !== "entry" || search.finds(lineOf(row))),
    [search],
  );
  const rows = only ? sieve.update(shown) : shown;

  const scroller = useRef<HTMLElement>(null);
  const rowHeight = useNarrow() ? 46 : 26;
  const cursor = useCursor(reading, rows, scroller, rowHeight);
  useKeys({
    toggle: () => (reading.paused.value ? reading.resume() : reading.pause()),
    toStart: () => cursor.goTo(rows[0]),
    toEnd: () => reading.resume(),
    move: cursor.move,
    open: () => cursor.setOpen(true),
    close: () => cursor.setOpen(false),
  });
  const standing = reading.standing.value;
  return (
    <Page title="Logs" tall actions={<Actions reading={reading} rows={rows} />}>
      <div class="logs-boxes">
        <FilterBox
          filter={filter}
          refusal={reading.refusal.value}
          onApply={(wanted) => (wanted === filter ? void reading.follow(filter) : change({ filter: wanted }))}
        />
        <SearchBox
          text={text}
          only={only}
          found={matches.length}
          at={cursor.row === undefined ? 0 : numberIn(matches, cursor.row)}
          onText={(search) => change({ search })}
          onOnly={(checked) => change({ only: checked ? "1" : "" })}
          onStep={(by) => cursor.step(by, matches)}
        />
      </div>
      {standing.state === "failed" && (
        <Problem error={standing.error} retry={() => void reading.follow(filter)} />
      )}
      <div class="logs-body">
        <div class="logs-shown">
          <List
            reading={reading}
            rows={rows}
            rowHeight={rowHeight}
            search={search}
            current={cursor.row}
            scroller={scroller}
            onPick={(row) => {
              cursor.goTo(row);
              cursor.setOpen(true);
              // The button goes as soon as it is scrolled away.
              scroller.current?.focus({ preventScroll: true });
            }}
          />
          {rows.length === 0 && <Nothing reading={reading} search={only ? text : ""} />}
        </div>
        {cursor.open && cursor.row !== undefined ? (
          <Details row={cursor.row} onMove={cursor.move} onClose={() => cursor.setOpen(false)} />
        ) : (
          <p class="unseen" aria-live="polite">
            {cursor.row !== undefined && lineOf(cursor.row)}
          </p>
        )}
      </div>
    </Page>
  );
}
