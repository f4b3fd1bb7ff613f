import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../../../ui/icons.tsx";
import { VirtualRows } from "../../../ui/virtual-rows.tsx";
import type { Entry, Order, SortKey } from "./entries.ts";
import { FileRow, type RowContext } from "./file-row.tsx";
import { updateView } from "./folder-view.ts";
import {
  emptySelection,
  rangeTo,
  rowForKey,
  selectAll,
  selectOnly,
  toggled,
  withActive,
} from "./selection.ts";

const rowHeight = 40;

export interface FileRowsProps extends RowContext {
  readonly entries: readonly Entry[];
  /** Handles keys that the list itself does not use: Delete, F2, Backspace. Returns whether it did. */
  readonly onKey: (key: string) => boolean;
}

/** Content of a folder: one Tab stop, moved through with the arrow keys. */
export function FileRows(props: FileRowsProps) {
  const { entries, selection, select, onOpen, onKey } = props;
  const box = useRef<HTMLElement>(null);
  const firstClicked = useRef<Entry | undefined>(undefined);
  const id = useId();
  const names = entries.map(({ name }) => name);
  const active = selection.active === undefined ? -1 : names.indexOf(selection.active);
  // After a key or a link in the previous folder the focused element is gone: continue here, before the next key.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) box.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => trackScrollbarWidth(box.current), []);
  useEffect(() => {
    const list = box.current;
    if (list === null || active === -1) return;
    const top = active * rowHeight;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + rowHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = top + rowHeight - list.clientHeight;
  }, [active]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== box.current || event.altKey) return;
    const entry = entries[active];
    const page = Math.max(Math.floor((box.current?.clientHeight ?? 0) / rowHeight) - 1, 1);
    const next = names[rowForKey(event.key, active, entries.length, page) ?? -1];
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

  return (
    <VirtualRows
      label="Files"
      class="files-rows"
      role="rowgroup"
      scroller={box}
      count={entries.length}
      rowHeight={rowHeight}
      box={{
        role: "grid",
        "aria-multiselectable": true,
        "aria-rowcount": entries.length,
        ...(active === -1 ? {} : { "aria-activedescendant": `${id}-${active}` }),
        onKeyDown,
      }}
      row={(index) => {
        const entry = entries[index];
        if (entry === undefined) return null;
        return (
          <FileRow
            key={entry.name}
            {...props}
            entry={entry}
            names={names}
            index={index}
            id={`${id}-${index}`}
            firstClicked={firstClicked}
          />
        );
      }}
    />
  );
}

/** Publishes the width of the list's scroll bar, so that the column heads, which are outside the list, end where the rows end. */
function trackScrollbarWidth(list: HTMLElement | null): (() => void) | undefined {
  if (list === null) return undefined;
  const observer = new ResizeObserver(() => {
    const width = list.offsetWidth - list.clientWidth;
    list.parentElement?.style.setProperty("--scrollbar", `${width}px`);
  });
  observer.observe(list);
  return () => observer.disconnect();
}

const columns: ReadonlyArray<readonly [SortKey, string]> = [
  ["name", "Name"],
  ["size", "Size"],
  ["changed", "Changed"],
];

export interface SortBarProps {
  readonly order: Order;
  readonly all: boolean;
  readonly some: boolean;
  readonly onAll: (all: boolean) => void;
}

/** Column heads. A click sorts by that column. */
export function SortBar({ order, all, some, onAll }: SortBarProps) {
  return (
    <div class="files-row files-heads">
      <span class="files-check">
        <input
          type="checkbox"
          aria-label="Select all"
          checked={all}
          indeterminate={some && !all}
          onChange={(event: Event) => onAll((event.currentTarget as HTMLInputElement).checked)}
        />
      </span>
      {columns.map(([key, title]) => {
        const own = order.sort === key;
        const state = own ? (order.down ? ", descending" : ", ascending") : "";
        return (
          <span key={key} class={`files-${key}`}>
            <button
              type="button"
              aria-label={`Sort by ${title.toLowerCase()}${state}`}
              aria-pressed={own}
              onClick={() => updateView({ sort: key, down: own && !order.down })}
            >
              {title}
              {own && <Icon name={order.down ? "down" : "up"} />}
            </button>
          </span>
        );
      })}
    </div>
  );
}
