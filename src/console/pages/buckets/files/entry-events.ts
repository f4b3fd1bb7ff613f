import type { HTMLAttributes, RefObject } from "preact";
import type { OpenBucket } from "../bucket-access.ts";
import { join } from "../path.ts";
import { dropClass, dropEvents, endDrag } from "./drag-move.ts";
import type { Entry } from "./entries.ts";
import { rangeTo, type Selection, selectOnly, toggled } from "./selection.ts";

/** Shared by all entries of a list. */
export interface EntryContext {
  readonly openBucket: OpenBucket;
  /** Folder of the entries. */
  readonly path: string;
  readonly selection: Selection;
  readonly select: (selection: Selection) => void;
  readonly linkOf: (entry: Entry) => string;
  /** Whether the editor holds unsaved changes to the file. */
  readonly isUnsaved: (entry: Entry) => boolean;
  readonly onOpen: (entry: Entry) => void;
  /** Called for a right click, with its place in the window. */
  readonly onMenu: (entry: Entry, at: { readonly x: number; readonly y: number }) => void;
  /** Called when an entry begins to be dragged; undefined when nothing can be moved. */
  readonly onDrag: ((entry: Entry, event: DragEvent) => void) | undefined;
}

/** What a row or tile of the list gets. */
export interface EntryProps extends EntryContext {
  readonly entry: Entry;
  readonly names: readonly string[];
  readonly index: number;
  readonly id: string;
  /** Entry of the first click of a double click, shared by all entries. */
  readonly firstClicked: RefObject<Entry | undefined>;
}

/** Attributes and listeners of the element of an entry: selecting, opening, menu, dragging, and dropping into a folder. */
export function entryEvents(props: EntryProps): HTMLAttributes<HTMLDivElement> {
  const { entry, names, id, path, selection, select, onOpen, onMenu, onDrag, firstClicked } = props;
  const { name, folder } = entry;
  const chosen = selection.chosen.has(name);
  const target = folder && onDrag !== undefined ? join(path, name) : undefined;
  const pick = (event: MouseEvent) => {
    if (event.detail <= 1) firstClicked.current = undefined;
    const clicked = event.target instanceof Element ? event.target : undefined;
    if (clicked?.closest("input")) return;
    if (clicked?.closest("a")) {
      if (!hasModifier(event)) return;
      // Otherwise the browser would open the link in a new tab or window.
      event.preventDefault();
    }
    if (event.detail <= 1) firstClicked.current = entry;
    // Second click of a double click: the first has selected the row, and the list may have moved since.
    else if (!hasModifier(event)) return;
    if (event.shiftKey) select(rangeTo(selection, name, names));
    else if (event.ctrlKey || event.metaKey) select(toggled(selection, name));
    else select(selectOnly(name));
  };
  return {
    id,
    class: `${chosen ? " chosen" : ""}${selection.active === name ? " active" : ""}${target === undefined ? "" : dropClass(target)}`,
    "aria-selected": chosen,
    // Files from outside that are dropped here are uploaded into the folder.
    ...(folder ? { "data-folder": join(path, name) } : {}),
    onClick: pick,
    onDblClick: (event: MouseEvent) => {
      const { current } = firstClicked;
      if (current !== undefined && !hasModifier(event)) onOpen(current);
    },
    onContextMenu: (event: MouseEvent) => {
      event.preventDefault();
      const { clientX: x, clientY: y } = event;
      afterRelease(event, () => onMenu(entry, { x, y }));
    },
    ...(onDrag === undefined
      ? {}
      : { draggable: true, onDragStart: (event: DragEvent) => onDrag(entry, event), onDragEnd: endDrag }),
    ...(target === undefined ? {} : dropEvents(target)),
  };
}

/** Selects an entry by its checkbox. The list takes the focus, so that its keys work. */
export function toggle(
  { entry: { name }, names, selection, select }: EntryProps,
  { shiftKey, currentTarget }: MouseEvent,
): void {
  if (currentTarget instanceof Element)
    currentTarget.closest<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
  select(shiftKey ? rangeTo(selection, name, names) : toggled(selection, name));
}

/**
 * Runs something once no button of the mouse is down. On Linux and macOS a context menu is asked for when the button goes down, and the
 * browser would close a popover that opened before it goes up.
 */
function afterRelease({ buttons }: MouseEvent, run: () => void): void {
  if (buttons === 0) run();
  else addEventListener("pointerup", () => setTimeout(run), { once: true });
}

function hasModifier({ shiftKey, ctrlKey, metaKey }: MouseEvent): boolean {
  return shiftKey || ctrlKey || metaKey;
}
