import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ago, bytes, time } from "../../../format.ts";
import { serverUrl, useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { FileName } from "../../../ui/file-name.tsx";
import { Icon, type IconName } from "../../../ui/icons.tsx";
import { VirtualRows } from "../../../ui/list.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { join, publicUrl } from "../path.ts";
import { type Kind, kindOf } from "../preview/model.ts";
import {
  type Entry,
  emptySelection,
  entryForKey,
  type Order,
  rangeTo,
  type SortKey,
  selectAll,
  selectOnly,
  toggled,
  withActive,
} from "./model.ts";
import {
  type EntryContext,
  type EntryProps,
  entryEvents,
  focusList,
  keepScroll,
  savedScroll,
  toggle,
  updateView,
} from "./view.ts";

/** Shape of the list: rows with columns, or tiles. */
export type Layout = "list" | "grid";

/** A row is lower for a mouse than for a finger. */
const rowHeight = () => ({ list: matchMedia("(pointer: fine)").matches ? 34 : 40, grid: 164 });
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
  const [heights] = useState(rowHeight);
  const height = heights[layout];
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
      {layout === "list" && <span class="files-more" />}
    </div>
  );
}

/** Table elements cannot be positioned freely, so the list uses other elements with table roles. */
const asCell = { role: "gridcell" } as const;

/** Row of a file or folder. Its link and checkbox are for pointers; the list handles the keyboard. */
function FileRow(props: EntryProps) {
  const { entry, index, selection, linkOf, isUnsaved } = props;
  const { name, folder, size, changed } = entry;
  const shown = visibleText(name);
  const { class: state, ...events } = entryEvents(props);
  const row = { role: "row", "aria-rowindex": index + 1, ...events, class: `files-row${state}` } as const;
  return (
    <div {...row}>
      <span {...asCell} class="files-check">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={t.files.select(shown)}
          checked={selection.chosen.has(name)}
          onClick={(event: MouseEvent) => toggle(props, event)}
        />
      </span>
      <span {...asCell} class="files-name">
        <KindIcon entry={entry} openBucket={props.openBucket} path={props.path} />
        <a href={linkOf(entry)} tabIndex={-1} title={shown} draggable={false}>
          <FileName name={name} />
          {folder && <span class="unseen"> {t.files.isFolder}</span>}
        </a>
        {isUnsaved(entry) && <span class="badge warn">{t.files.unsavedBadge}</span>}
      </span>
      <span {...asCell} class="files-size">
        {size === undefined ? "" : bytes(size)}
      </span>
      <span {...asCell} class="files-changed" title={changed === undefined ? "" : time(changed)}>
        {changed === undefined ? "" : ago(changed)}
      </span>
      <span {...asCell} class="files-more">
        <EntryMenuButton {...props} />
      </span>
    </div>
  );
}

/** "⋯" button with the menu of an entry, for pointers; the list has a key for it. */
function EntryMenuButton({ entry, onMenu }: EntryProps) {
  return (
    <button
      type="button"
      class="button quiet icon-only"
      tabIndex={-1}
      aria-haspopup="menu"
      aria-label={t.files.actionsFor(visibleText(entry.name))}
      // Else the row would be dragged by it.
      onMouseDown={(event: MouseEvent) => event.preventDefault()}
      onClick={({ currentTarget }: MouseEvent) => {
        if (!(currentTarget instanceof Element)) return;
        focusList(currentTarget);
        const { left, bottom } = currentTarget.getBoundingClientRect();
        onMenu(entry, { x: left, y: bottom });
      }}
    >
      <span class="dots" aria-hidden="true" />
    </button>
  );
}

interface TileLineProps {
  readonly line: number;
  readonly columns: number;
  readonly children: ComponentChildren;
}

/** Line of tiles, which share its width. */
function TileLine({ line, columns, children }: TileLineProps) {
  const row = { role: "row", "aria-rowindex": line + 1 } as const;
  return (
    <div
      {...row}
      class="files-tile-line"
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
    >
      {children}
    </div>
  );
}

/** Tile of a file or folder, with a picture or icon. Its link and checkbox are for pointers; the list handles the keyboard. */
function FileTile(props: EntryProps & { readonly column: number }) {
  const { entry, column, selection, linkOf, isUnsaved } = props;
  const { name, folder, size } = entry;
  const shown = visibleText(name);
  const { class: state, ...events } = entryEvents(props);
  const cell = {
    role: "gridcell",
    "aria-colindex": column + 1,
    ...events,
    class: `files-tile${state}`,
  } as const;
  return (
    <div {...cell}>
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={t.files.select(shown)}
        checked={selection.chosen.has(name)}
        onClick={(event: MouseEvent) => toggle(props, event)}
      />
      <KindPicture entry={entry} openBucket={props.openBucket} path={props.path} />
      <a href={linkOf(entry)} tabIndex={-1} title={shown} draggable={false}>
        <FileName name={name} />
        {folder && <span class="unseen"> {t.files.isFolder}</span>}
      </a>
      <small class="muted">
        {isUnsaved(entry) ? t.files.unsavedBadge : size === undefined ? "" : bytes(size)}
      </small>
      <EntryMenuButton {...props} />
    </div>
  );
}

/** Larger pictures have an icon: a list of them would load as many megabytes. */
const maxIconBytes = 300_000;
/** Larger pictures of tiles are made small by the server, if it can; else they have an icon. */
const maxOriginalBytes = 30_000;
const maxTileBytes = 32 * 1024 * 1024;
/** Tiles are half as wide. Screens may have two pixels for one. */
const thumbnailPixels = 256;
/** Formats that the server makes small. */
const shrinkable = /\.(?:jpe?g|png|webp|gif)$/i;
/** Pictures of other formats are sent as they are. */
const maxOtherBytes = 2_000_000;

const icons: Readonly<Record<Kind["as"], IconName>> = {
  image: "picture",
  audio: "sound",
  video: "video",
  pdf: "document",
  markdown: "document",
  table: "table",
  text: "file",
  archive: "archive",
  binary: "file",
  unknown: "file",
};

interface KindIconProps {
  readonly entry: Entry;
  readonly openBucket: OpenBucket;
  /** Folder of the entry. */
  readonly path: string;
}

/** Icon that says what a file is, or a small picture itself, if its bucket is public. Only rows in view load theirs. */
function KindIcon({ entry, openBucket, path }: KindIconProps) {
  const [broken, setBroken] = useState(false);
  const isShown = isPicture(entry, maxIconBytes) && !broken && openBucket.access.readers === "anybody";
  return isShown ? (
    <Thumbnail
      address={publicUrl(serverUrl, { name: openBucket.name, path: join(path, entry.name) })}
      onBroken={() => setBroken(true)}
    />
  ) : (
    <KindMark entry={entry} />
  );
}

/** Picture of a tile: that of an image, also in a private bucket, or a large icon. Only tiles in view load theirs. */
function KindPicture({ entry, openBucket, path }: KindIconProps) {
  const [broken, setBroken] = useState(false);
  const isShown = isPicture(entry, shrinkable.test(entry.name) ? maxTileBytes : maxOtherBytes) && !broken;
  const address = useThumbnail(openBucket, join(path, entry.name), {
    isWanted: isShown,
    isSmall: !shrinkable.test(entry.name) || (entry.size ?? 0) <= maxOriginalBytes,
  });
  return (
    <span class="files-picture">
      {isShown && address !== undefined ? (
        <Thumbnail address={address} onBroken={() => setBroken(true)} />
      ) : (
        <KindMark entry={entry} />
      )}
    </span>
  );
}

function isPicture({ name, folder, size = 0 }: Entry, maxBytes: number): boolean {
  return !folder && kindOf(name).as === "image" && size > 0 && size <= maxBytes;
}

interface ThumbnailProps {
  readonly address: string;
  readonly onBroken: () => void;
}

function Thumbnail({ address, onBroken }: ThumbnailProps) {
  return (
    <img
      class="files-thumbnail"
      src={address}
      alt=""
      draggable={false}
      loading="lazy"
      decoding="async"
      onError={onBroken}
    />
  );
}

function KindMark({ entry: { name, folder } }: { readonly entry: Entry }) {
  const kind = kindOf(name);
  const isCode = kind.as === "text" && kind.language !== "";
  const [mark, icon]: readonly [string, IconName] = folder
    ? ["folder", "folder"]
    : isCode
      ? ["code", "api"]
      : [kind.as, icons[kind.as]];
  return (
    <span class={`files-kind ${mark}`}>
      <Icon name={icon} />
    </span>
  );
}

/** Private pictures that are read at a time, so that other requests get through. */
const maxReads = 4;
let reads = 0;
const waiting: (() => void)[] = [];

/** Runs a read when fewer than `maxReads` are under way. One whose signal was aborted meanwhile is left out. */
async function inTurn<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T | undefined> {
  if (reads >= maxReads) await new Promise<void>((resolve) => waiting.push(resolve));
  if (signal.aborted) {
    waiting.shift()?.();
    return undefined;
  }
  reads += 1;
  try {
    return await read();
  } finally {
    reads -= 1;
    waiting.shift()?.();
  }
}

interface ThumbnailWish {
  readonly isWanted: boolean;
  /** Whether the picture itself is shown, and not one that the server has made smaller. */
  readonly isSmall: boolean;
}

/**
 * Address of a picture for an `<img>`: that of a small public one, or else a `blob:`, which lives as long as the component.
 * Undefined while it is read, and if it cannot be.
 */
function useThumbnail(
  { name, access }: OpenBucket,
  path: string,
  { isWanted, isSmall }: ThumbnailWish,
): string | undefined {
  const { client } = useSession();
  const [blob, setBlob] = useState<string>();
  const isPublic = isSmall && access.readers === "anybody";
  const read = async (signal: AbortSignal): Promise<Blob> => {
    if (isSmall) return (await access.read(path, signal)).blob;
    const asked = { name, path, size: thumbnailPixels };
    const base64 = await client.call("static-bucket-file_thumbnail", asked, { signal });
    return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]);
  };
  useEffect(() => {
    if (!isWanted || isPublic || !access.mayRead) return;
    const abort = new AbortController();
    let address: string | undefined;
    inTurn(abort.signal, () => read(abort.signal)).then(
      (content) => {
        const kind = kindOf(path);
        if (content === undefined || abort.signal.aborted || kind.as !== "image") return;
        address = URL.createObjectURL(new Blob([content], { type: isSmall ? kind.type : "image/webp" }));
        setBlob(address);
      },
      // The icon stays. Opening the file says what is wrong with it.
      () => undefined,
    );
    return () => {
      abort.abort();
      if (address !== undefined) URL.revokeObjectURL(address);
      setBlob(undefined);
    };
  }, [path, isWanted, isSmall, isPublic]);
  return isPublic ? publicUrl(serverUrl, { name, path }) : blob;
}
