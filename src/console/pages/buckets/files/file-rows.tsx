import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../../text/text.ts";
import { Icon } from "../../../ui/icons.tsx";
import { VirtualRows } from "../../../ui/list.tsx";
import type { Entry, Order, SortKey } from "./entries.ts";
import type { EntryContext } from "./entry-events.ts";
import { FileRow } from "./file-row.tsx";
import { FileTile, TileLine } from "./file-tile.tsx";
import { keepScroll, savedScroll, updateView } from "./folder-view.ts";
import {
  emptySelection,
  entryForKey,
  rangeTo,
  selectAll,
  selectOnly,
  toggled,
  withActive,
} from "./selection.ts";

/** Shape of the list: rows with columns, or tiles. */
export type Layout = "list" | "grid";

const rowHeight = { list: 40, grid: 164 };
const minTileWidth = 112;

interface FileRowsProps extends EntryContext {
  readonly label: string;
  readonly layout: Layout;
  readonly entries: readonly Entry[];
  /** Handles keys that the list itself does not use: Delete, F2, Backspace. Returns whether it did. */
  readonly onKey: (key: string) => boolean;
}

/** Content of a folder as rows or tiles: one Tab stop, moved through with the arrow keys. */
export function FileRows(props: FileRowsProps) {
  const { label, layout, entries, selection, select, onOpen, onMenu, onKey } = props;
  const box = useRef<HTMLElement>(null);
  const firstClicked = useRef<Entry | undefined>(undefined);
  const id = useId();
  const [width, setWidth] = useState(0);
  const height = rowHeight[layout];
  const columns = layout === "list" ? 1 : Math.max(Math.floor(width / minTileWidth), 2);
  const names = entries.map(({ name }) => name);
  const active = selection.active === undefined ? -1 : names.indexOf(selection.active);
  // After a key or a link in the previous folder the focused element is gone: continue here, before the next key.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) box.current?.focus({ preventScroll: true });
  }, []);
  useLayoutEffect(() => {
    setWidth(box.current?.clientWidth ?? 0);
    return trackWidth(box.current, setWidth);
  }, []);
  const [scrolledTo] = useState(savedScroll);
  // A grid has its height once it knows its columns.
  const isSized = layout === "list" || width > 0;
  useLayoutEffect(() => {
    if (isSized && box.current !== null && scrolledTo !== undefined) box.current.scrollTop = scrolledTo;
  }, [isSized]);
  useEffect(() => {
    const list = box.current;
    if (list === null || active === -1) return;
    const top = Math.floor(active / columns) * height;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + height > list.scrollTop + list.clientHeight)
      list.scrollTop = top + height - list.clientHeight;
  }, [active, columns, height]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== box.current || event.altKey) return;
    const entry = entries[active];
    const page = Math.max(Math.floor((box.current?.clientHeight ?? 0) / height) - 1, 1);
    const next = names[entryForKey(event.key, active, { count: entries.length, page, columns }) ?? -1];
    if (next !== undefined)
      select(
        event.shiftKey
          ? rangeTo(selection, next, names)
          : event.ctrlKey
            ? withActive(selection, next)
            : selectOnly(next),
      );
    else if (event.key === "Enter" && entry !== undefined) onOpen(entry);
    else if (event.key === " " && entry !== undefined) select(toggled(selection, entry.name));
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) select(selectAll(selection, names));
    else if (event.key === "Escape") select(emptySelection);
    else if (!onKey(event.key)) return;
    event.preventDefault();
  };
  const propsOf = (entry: Entry, index: number) => ({
    ...props,
    entry,
    names,
    index,
    id: `${id}-${index}`,
    firstClicked,
  });
  const lineOfTiles = (line: number) => (
    <TileLine key={line} line={line} columns={columns}>
      {entries.slice(line * columns, (line + 1) * columns).map((entry, column) => (
        <FileTile key={entry.name} {...propsOf(entry, line * columns + column)} column={column} />
      ))}
    </TileLine>
  );
  const row = (index: number) => {
    const entry = entries[index];
    return entry === undefined ? null : <FileRow key={entry.name} {...propsOf(entry, index)} />;
  };

  return (
    <VirtualRows
      label={label}
      class={layout === "list" ? "files-rows" : "files-rows files-tiles"}
      role="rowgroup"
      scroller={box}
      count={Math.ceil(entries.length / columns)}
      rowHeight={height}
      onScroll={() => keepScroll(box.current?.scrollTop ?? 0)}
      box={{
        role: "grid",
        "aria-multiselectable": true,
        "aria-rowcount": Math.ceil(entries.length / columns),
        ...(active === -1 ? {} : { "aria-activedescendant": `${id}-${active}` }),
        onKeyDown,
        // The key for menus. A right click on an entry is handled by the entry.
        onContextMenu: (event: MouseEvent) => {
          const shown = document.getElementById(`${id}-${active}`);
          const entry = entries[active];
          if (event.target !== box.current || shown === null || entry === undefined) return;
          event.preventDefault();
          const { left, bottom } = shown.getBoundingClientRect();
          onMenu(entry, { x: left + 40, y: bottom });
        },
      }}
      row={layout === "list" ? row : lineOfTiles}
    />
  );
}

/**
 * Reports the width of the list when it changes, and publishes that of its scroll bar, so that the column heads, which are outside the
 * list, end where the rows end.
 */
function trackWidth(list: HTMLElement | null, onWidth: (width: number) => void): (() => void) | undefined {
  if (list === null) return undefined;
  const observer = new ResizeObserver(() => {
    const width = list.offsetWidth - list.clientWidth;
    list.parentElement?.style.setProperty("--scrollbar", `${width}px`);
    onWidth(list.clientWidth);
  });
  observer.observe(list);
  return () => observer.disconnect();
}

const heads = (): ReadonlyArray<readonly [SortKey, string]> => [
  ["name", t.frame.name],
  ["size", t.files.size],
  ["changed", t.files.changed],
];

interface SortBarProps {
  readonly layout: Layout;
  readonly order: Order;
  readonly all: boolean;
  readonly some: boolean;
  readonly onAll: (all: boolean) => void;
  /** As of the list. */
  readonly onKey: FileRowsProps["onKey"];
}

/** Column heads. A click sorts by that column. */
export function SortBar({ layout, order, all, some, onAll, onKey }: SortBarProps) {
  return (
    <div class={layout === "list" ? "files-row files-heads" : "files-heads loose"}>
      <span class="files-check">
        <input
          type="checkbox"
          aria-label={t.files.selectAll}
          checked={all}
          indeterminate={some && !all}
          // A click leaves the focus here.
          onKeyDown={(event: KeyboardEvent) => {
            if (onKey(event.key)) event.preventDefault();
          }}
          onChange={(event: Event) => onAll((event.currentTarget as HTMLInputElement).checked)}
        />
      </span>
      {heads().map(([key, title]) => {
        const own = order.sort === key;
        const direction = own ? (order.down ? "descending" : "ascending") : undefined;
        return (
          <span key={key} class={`files-${key}`}>
            <button
              type="button"
              aria-label={t.files.sortBy(title, direction)}
              aria-pressed={own}
              onClick={() => updateView({ sort: key, down: own && !order.down })}
            >
              {title}
              {own && <Icon name={order.down ? "sortDown" : "sortUp"} />}
            </button>
          </span>
        );
      })}
    </div>
  );
}
