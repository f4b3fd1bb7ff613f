import { signal } from "@preact/signals";
import type { HTMLAttributes, RefObject } from "preact";
import { cameBack, closeTo, go, linkTo, type Route, replaceQuery, route } from "../../../route.ts";
import { type Session, serverUrl } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { toClipboard } from "../../../ui/copy.tsx";
import type { MenuItem } from "../../../ui/more-menu.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { mayCopyUrl, type OpenBucket } from "../bucket-access.ts";
import { linkToTab } from "../bucket-tabs.ts";
import { linkKindsTo } from "../links/link-form.tsx";
import { join, publicUrl, splitPath } from "../path.ts";
import { type DownloadSelection, download, downloadRefusal } from "../preview/preview.tsx";
import {
  type Entry,
  isSortKey,
  type Order,
  rangeTo,
  type Selection,
  selectOnly,
  type Transfer,
  toggled,
  transferProblem,
} from "./model.ts";

/** Folder, open file, filter and order of the file list, as the query of the address holds them. */
export interface FolderView extends Order {
  readonly path: string;
  /** Open file in the folder, or an empty text. */
  readonly file: string;
  /** Entry that is selected at first, or an empty text. */
  readonly entry: string;
  readonly filter: string;
  /** The filter searches the whole bucket instead of this folder. */
  readonly everywhere: boolean;
}

export function currentView(): FolderView {
  return viewIn(route.value);
}

function viewIn({ query }: Route): FolderView {
  const text = (key: string) => query.get(key) ?? "";
  const sort = text("sort");
  return {
    path: splitPath(text("path")).filter(isName).join("/"),
    file: text("file"),
    entry: text("entry"),
    filter: text("filter"),
    everywhere: text("in") === "bucket",
    sort: isSortKey(sort) ? sort : "name",
    down: text("order") === "down",
  };
}

/** `.` and `..` in a hand-written address would lead out of the bucket. */
function isName(name: string): boolean {
  return name !== "." && name !== "..";
}

/** Link to another folder with the current order, and in it to an open file or a selected entry. */
export function linkToPath(
  bucket: string,
  path: string,
  { file = "", entry }: Partial<Pick<FolderView, "file" | "entry">> = {},
): string {
  const now = currentView();
  // Within the folder the list stays as it is.
  const shown = entry ?? (path === now.path ? now.entry : "");
  return linkTo(
    "buckets",
    [bucket],
    toQuery({ ...now, path, file, entry: shown, filter: "", everywhere: false }),
  );
}

/** Changes the view without a new history entry. */
export function updateView(change: Partial<FolderView>): void {
  replaceQuery(toQuery({ ...currentView(), ...change }));
}

/** Scroll positions of lists, by their addresses. */
const scrolled = new Map<string, number>();

/** Keeps how far the list at the current address is scrolled. */
export function keepScroll(top: number): void {
  scrolled.set(listAddress(), top);
}

/** savedScroll returns how far the list at the current address was scrolled, if the person has come back to it. */
export function savedScroll(): number | undefined {
  return cameBack() ? scrolled.get(listAddress()) : undefined;
}

/** The address without what is selected or open in the list. */
function listAddress(): string {
  const { page, rest } = route.value;
  return linkTo(page, rest, toQuery({ ...currentView(), file: "", entry: "" }));
}

/** Closes the open file and shows its folder as before. */
export function closeFile(): void {
  const view = currentView();
  closeTo(toQuery({ ...view, file: "" }), (before) => {
    const { file, path } = viewIn(before);
    return file === "" && path === view.path;
  });
}

function toQuery({ path, file, entry, filter, everywhere, sort, down }: FolderView): Record<string, string> {
  return {
    path,
    file,
    entry,
    filter,
    in: everywhere ? "bucket" : "",
    sort: sort === "name" ? "" : sort,
    order: down ? "down" : "",
  };
}

/** Entries that are dragged within the page. Files from outside are uploads, which `useDrop` handles. */
interface Drag {
  readonly transfer: Transfer;
  /** Moves the entries into a folder. */
  readonly moveInto: (folder: string) => void;
}

export const drag = signal<Drag | undefined>(undefined);
/** Path of the folder under the mouse during a drag. */
export const dropFolder = signal<string | undefined>(undefined);

/** Firefox starts no drag without data. */
const dataType = "application/x-node-server-entries";

/** Starts to drag entries. `label` is shown at the mouse. */
export function startDrag(event: DragEvent, started: Drag, label: string): void {
  const { dataTransfer } = event;
  if (dataTransfer === null) return;
  dataTransfer.effectAllowed = "move";
  dataTransfer.setData(dataType, "");
  const image = document.createElement("div");
  image.className = "files-drag";
  image.textContent = label;
  document.body.append(image);
  dataTransfer.setDragImage(image, -8, -8);
  // The browser takes a picture of it after this event.
  setTimeout(() => image.remove());
  drag.value = started;
  // `dragend` is not sent if the row was scrolled out of the page. The mouse moves again after any end.
  addEventListener("pointermove", endDrag, { once: true });
}

function endDrag(): void {
  drag.value = undefined;
  dropFolder.value = undefined;
}

/** Reason why the dragged entries cannot go into a folder, or undefined. */
export function dragProblem(folder: string): string | undefined {
  const problem = drag.value && transferProblem(drag.value.transfer, folder);
  return problem === undefined ? undefined : visibleText(problem);
}

type OnDrag = (event: DragEvent) => void;

interface DropEvents {
  readonly onDragEnter: OnDrag;
  readonly onDragOver: OnDrag;
  readonly onDragLeave: OnDrag;
  readonly onDrop: OnDrag;
}

/** Listeners that make an element stand for a folder during a drag. A folder that cannot take the entries says why. */
export function dropEvents(folder: string): DropEvents {
  const accept = (event: DragEvent) => {
    if (drag.peek() === undefined) return;
    event.preventDefault();
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "move";
    dropFolder.value = folder;
  };
  return {
    onDragEnter: accept,
    onDragOver: accept,
    onDragLeave: ({ currentTarget, relatedTarget }) => {
      const isInside = currentTarget instanceof Node && currentTarget.contains(relatedTarget as Node | null);
      if (!isInside && dropFolder.peek() === folder) dropFolder.value = undefined;
    },
    onDrop: (event) => {
      const dropped = drag.peek();
      if (dropped === undefined) return;
      event.preventDefault();
      const problem = dragProblem(folder);
      endDrag();
      if (problem === undefined) dropped.moveInto(folder);
      else toast(problem, "notice");
    },
  };
}

/** Class of an element that stands for a folder: whether the mouse is over it, and whether it takes the entries. */
export function dropClass(folder: string): string {
  if (dropFolder.value !== folder) return "";
  return dragProblem(folder) === undefined ? " drop-into" : " drop-refused";
}

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
    if (clicked?.closest("input, button")) return;
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
  if (currentTarget instanceof Element) focusList(currentTarget);
  select(shiftKey ? rangeTo(selection, name, names) : toggled(selection, name));
}

/** Gives the list the focus when something in one of its entries was clicked, so that its keys work. */
export function focusList(clicked: Element): void {
  clicked.closest<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
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

/** Changes that the folder can make to the selected entries. */
export interface EntryActions {
  readonly onOpen: (entry: Entry) => void;
  readonly onRename: () => void;
  readonly onMove: () => void;
  readonly onCopy: () => void;
  /** Undefined where entries are in several folders. */
  readonly onDuplicate: (() => void) | undefined;
  readonly onDelete: () => void;
  /** Makes a link to one entry. */
  readonly onShare: () => void;
  /** Shows the entry in its folder; undefined where that is what is shown. */
  readonly onShow: ((entry: Entry) => void) | undefined;
}

/** Address of an entry over plain HTTP. */
export function urlOf({ name, site }: OpenBucket, path: string, entry: Entry): string {
  return `${publicUrl(serverUrl, { name, site, path: join(path, entry.name) })}${entry.folder ? "/" : ""}`;
}

/** Makes a link to one entry for others; undefined where that is not possible. */
export function shareItem(
  { rights }: Session,
  { name }: OpenBucket,
  entries: readonly Entry[],
  { onShare }: EntryActions,
): MenuItem | undefined {
  const alone = entries.length === 1 ? entries[0] : undefined;
  if (alone === undefined || linkKindsTo(rights, name, alone).length === 0) return undefined;
  return { label: t.files.shareLink, icon: "share", onSelect: onShare };
}

/** Actions that have no button in the toolbar: copies, and older versions. */
export function furtherItems(
  { rights }: Session,
  { name, access }: OpenBucket,
  { folder: path, entries }: { readonly folder: string; readonly entries: readonly Entry[] },
  { onCopy, onDuplicate }: EntryActions,
): MenuItem[] {
  const items: MenuItem[] = [];
  if (access.files !== undefined) items.push({ label: t.files.copyTo, icon: "copy", onSelect: onCopy });
  if (access.files !== undefined && onDuplicate !== undefined)
    items.push({ label: t.files.duplicate, icon: "duplicate", onSelect: onDuplicate });
  const alone = entries.length === 1 ? entries[0] : undefined;
  if (alone !== undefined && !alone.folder && rights.may("static-bucket-file_history", name))
    items.push({
      label: t.files.versions,
      icon: "retry",
      onSelect: () => go(linkToTab(name, "trash", { path: join(path, alone.name) })),
    });
  return items;
}

/** All actions for the selected entries. */
export function entryMenu(
  session: Session,
  openBucket: OpenBucket,
  chosen: DownloadSelection & { readonly entries: readonly Entry[] },
  actions: EntryActions,
): MenuItem[] {
  const { access } = openBucket;
  const alone = chosen.entries.length === 1 ? chosen.entries[0] : undefined;
  const items: MenuItem[] = [];
  const { onOpen, onShow } = actions;
  if (alone !== undefined)
    items.push({
      label: t.files.open,
      icon: alone.folder ? "folder" : "file",
      onSelect: () => onOpen(alone),
    });
  if (alone !== undefined && onShow !== undefined)
    items.push({ label: t.files.showInFolder, icon: "folder", onSelect: () => onShow(alone) });
  if (access.mayRead || access.readers === "anybody") {
    const refusal = downloadRefusal(openBucket, chosen);
    items.push({
      label: alone?.folder === false ? t.files.download : t.files.downloadZip,
      icon: "download",
      disabled: refusal !== undefined,
      title: refusal,
      onSelect: () => download(session, openBucket, chosen),
    });
  }
  if (alone !== undefined && mayCopyUrl(openBucket))
    items.push({
      label: t.frame.copyUrl,
      icon: "link",
      onSelect: async () => {
        await toClipboard(urlOf(openBucket, chosen.folder, alone));
        toast(t.frame.copied);
      },
    });
  const share = shareItem(session, openBucket, chosen.entries, actions);
  if (share !== undefined) items.push(share);
  const further = furtherItems(session, openBucket, chosen, actions);
  if (access.files === undefined) return [...items, ...further];
  if (alone !== undefined) items.push({ label: t.files.rename, icon: "edit", onSelect: actions.onRename });
  items.push({ label: t.files.moveTo, icon: "moveTo", onSelect: actions.onMove }, ...further, {
    label: t.frame.delete,
    icon: "trash",
    danger: true,
    onSelect: actions.onDelete,
  });
  return items;
}
