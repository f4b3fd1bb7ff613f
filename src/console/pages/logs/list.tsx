import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../../ui/icons.tsx";
import { VirtualRows } from "../../ui/virtual-rows.tsx";
import { entries } from "./line.ts";
import { ListRow } from "./list-row.tsx";
import type { Reading } from "./reading.ts";
import type { Row } from "./rows.ts";
import type { Search } from "./search.ts";

export interface ListProps {
  readonly reading: Reading;
  readonly rows: readonly Row[];
  readonly rowHeight: number;
  readonly search: Search;
  readonly current: Row | undefined;
  readonly scroller: RefObject<HTMLElement | null>;
  readonly onPick: (row: Row) => void;
}

/** The lines. Scrolling up pauses, scrolling down to the end goes on. */
export function List({ reading, rows, rowHeight, search, current, scroller, onPick }: ListProps) {
  const before = useRef(0);
  const paused = reading.paused.value;
  useLayoutEffect(() => {
    before.current = scroller.current?.scrollTop ?? 0;
  });
  const scrolled = () => {
    const box = scroller.current;
    if (box === null) return;
    const { scrollTop, scrollHeight, clientHeight } = box;
    const atEnd = scrollHeight - clientHeight - scrollTop < rowHeight / 2;
    if (scrollTop < before.current - 1 && !atEnd) reading.pause();
    else if (scrollTop > before.current + 1 && atEnd) reading.resume();
    before.current = scrollTop;
  };
  return (
    <div class="logs-list">
      <VirtualRows
        class="logs-rows"
        label="Log entries"
        count={rows.length}
        rowHeight={rowHeight}
        scroller={scroller}
        stayAtEnd={!paused}
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
      {paused && <ToEnd reading={reading} />}
    </div>
  );
}

function ToEnd({ reading }: { readonly reading: Reading }) {
  const waiting = reading.waiting.value;
  return (
    <button type="button" class="button primary logs-to-end" onClick={() => reading.resume()}>
      <Icon name="down" />
      <span>{waiting === 0 ? "Jump to the end" : `${entries(waiting)} new, jump to the end`}</span>
    </button>
  );
}
