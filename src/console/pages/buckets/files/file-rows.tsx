import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { VirtualRows } from "../../../ui/virtual-rows.tsx";
import type { Entry } from "./entry.ts";
import { FileRow } from "./file-row.tsx";
import { all, at, nothing, only, rangeTo, rowAfter, type Selection, toggled } from "./selection.ts";

const rowHeight = 40;

export interface FileRowsProps {
  readonly entries: readonly Entry[];
  readonly selection: Selection;
  readonly select: (selection: Selection) => void;
  readonly linkOf: (entry: Entry) => string;
  /** Whether changes to the file wait in the editor. */
  readonly isUnsaved: (entry: Entry) => boolean;
  readonly onOpen: (entry: Entry) => void;
  /** Keys that the list itself has no use for: Delete, F2, Backspace. */
  readonly onKey: (key: string) => boolean;
}

/** A folder's content: one stop of the Tab key, steered by arrows. */
export function FileRows(props: FileRowsProps) {
  const { entries, selection, select, onOpen, onKey } = props;
  const box = useRef<HTMLElement>(null);
  const firstClicked = useRef<Entry | undefined>(undefined);
  const id = useId();
  const names = entries.map(({ name }) => name);
  const active = selection.active === undefined ? -1 : names.indexOf(selection.active);
  // Who came here by a key or a link of the folder before, which is gone, goes on here, before the next key.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) box.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => leaveRoomForScrollbar(box.current), []);
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
    const next = names[rowAfter(event.key, active, entries.length, page) ?? -1];
    if (next !== undefined)
      select(
        event.shiftKey ? rangeTo(selection, next, names) : event.ctrlKey ? at(selection, next) : only(next),
      );
    else if (event.key === "Enter" && entry !== undefined) onOpen(entry);
    else if (event.key === " " && entry !== undefined) select(toggled(selection, entry.name));
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) select(all(selection, names));
    else if (event.key === "Escape") select(nothing);
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

/** Tells the heads, which stand outside the list, how wide its scroll bar is; they and the rows end at the same place then. */
function leaveRoomForScrollbar(list: HTMLElement | null): (() => void) | undefined {
  if (list === null) return undefined;
  const observer = new ResizeObserver(() => {
    const width = list.offsetWidth - list.clientWidth;
    list.parentElement?.style.setProperty("--scrollbar", `${width}px`);
  });
  observer.observe(list);
  return () => observer.disconnect();
}
