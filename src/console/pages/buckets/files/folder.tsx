import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { bytes, number } from "../../../format.ts";
import { coverOfSearch } from "../../../keyboard/cover-of-search.ts";
import { cameBack, go } from "../../../route.ts";
import { useSession } from "../../../session/session.ts";
import { browserStorage } from "../../../storage.ts";
import { t } from "../../../text/text.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { typed } from "../../../ui/form.tsx";
import { Icon } from "../../../ui/icons.tsx";
import { ContextMenu, type ContextMenuProps, MoreMenu } from "../../../ui/more-menu.tsx";
import { Skeleton } from "../../../ui/page.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { mayCopyUrl, type OpenBucket } from "../bucket-access.ts";
import { linkKindsTo, MakeLink } from "../links/link-form.tsx";
import { bucketToMount, closeMount, MountDialog, openMount } from "../mount/mount-dialog.tsx";
import { type Totals, totalsOf, totalsText } from "../parts.tsx";
import { join, nameOf, parentOf } from "../path.ts";
import { DownloadButton, Preview } from "../preview/preview.tsx";
import { isUnsaved } from "../preview/text-view.tsx";
import type { DropContents } from "../uploads/drop.ts";
import { uploads } from "../uploads/queue.ts";
import { Chooser, runOrShowError, useDrop, useUpload } from "../uploads/use-upload.tsx";
import { DeleteDialog, NewDialog, RenameDialog } from "./dialogs.tsx";
import {
  type Entry,
  emptySelection,
  filtered,
  outermost,
  restrictTo,
  type Selection,
  selectAll,
  selectOnly,
  sorted,
  type Transfer,
} from "./model.ts";
import { FileRows, type Layout, SortBar } from "./rows.tsx";
import { TransferDialog } from "./transfer-dialog.tsx";
import {
  closeFile,
  drag,
  dragProblem,
  dropFolder,
  type EntryActions,
  entryMenu,
  type FolderView,
  furtherItems,
  linkToPath,
  shareItem,
  startDrag,
  updateView,
  urlOf,
} from "./view.ts";

/** Where the browser keeps whether files are a list or a grid. */
const layoutKey = "node-server-files-layout";

/** Open dialog. `into` is the destination, if it is decided already. */
type OpenDialog =
  | { readonly name: "rename" | "delete" | "share" }
  | { readonly name: "transfer"; readonly transfer: Transfer; readonly into?: string };

interface FolderProps {
  readonly openBucket: OpenBucket;
  readonly view: FolderView;
  /** Grows when somebody has changed something in the folder. */
  readonly changes: number;
  /** Called when the record of the bucket has changed. */
  readonly onBucketChange: () => void;
  /** Called with what the folder contains, and with undefined while that is not known. */
  readonly onTotals: (totals: Totals | undefined) => void;
}

/** File list of one folder, with its toolbar, dialogs and preview. */
export function Folder({ openBucket, view, changes, onBucketChange, onTotals }: FolderProps) {
  const session = useSession();
  const { name: bucket, access } = openBucket;
  const { path, file, entry, filter, everywhere, sort, down } = view;
  const query = everywhere ? filter.trim() : "";
  const isSearching = query !== "";
  const search = useSearch(bucket, query);
  const listing = useLoad((signal) => access.list(path, signal), [access, path], { changes });
  const all = isSearching ? search.entries : listing.value;
  const error = isSearching ? search.error : listing.error;
  // Names of results are paths in the bucket.
  const base = isSearching ? "" : path;
  const entries = useMemo(
    () => sorted(isSearching ? (all ?? []) : filtered(all ?? [], filter), { sort, down }),
    [all, isSearching, filter, sort, down],
  );
  const names = useMemo(() => entries.map(({ name }) => name), [entries]);
  const [selectionState, setSelectionState] = useState(() => ({
    isSearching,
    // A person who comes back finds the list as it was, not at this entry.
    selection: entry === "" || cameBack() ? emptySelection : selectOnly(entry),
  }));
  // A name in the folder and a path in the bucket can be equal and mean two files.
  const selected = selectionState.isSearching === isSearching ? selectionState.selection : emptySelection;
  const select = (selection: Selection) => setSelectionState({ isSearching, selection });
  const selection = useMemo(() => restrictTo(selected, names), [selected, names]);
  const chosen = entries.filter(({ name }) => selection.chosen.has(name));
  const isWholeFolder = !isSearching && chosen.length === listing.value?.length;
  const fileNames = useMemo(() => entries.filter(({ folder }) => !folder).map(({ name }) => name), [entries]);
  const [layout, setLayout] = useState<Layout>(() =>
    browserStorage.read(layoutKey) === "grid" ? "grid" : "list",
  );
  // Tiles have no room for the paths of results.
  const shape = isSearching ? "list" : layout;
  const [dialog, setDialog] = useState<OpenDialog>();
  const [menu, setMenu] = useState<ContextMenuProps["at"]>();
  const reload = useCallback(() => {
    listing.reload();
    if (isSearching) search.reload();
  }, [isSearching]);
  useReloadAfterUploads(reload);
  useEffect(() => {
    onTotals(listing.value && totalsOf(listing.value));
    return () => onTotals(undefined);
  }, [listing.value]);
  const close = () => setDialog(undefined);
  const changed = () => {
    close();
    reload();
  };
  const transfer = (kind: Transfer["kind"], into?: string) =>
    setDialog({
      name: "transfer",
      transfer: { kind, path: base, entries: outermost(chosen) },
      ...(into === undefined ? {} : { into }),
    });
  const onDrag = (entry: Entry, event: DragEvent) => {
    const isChosen = selection.chosen.has(entry.name);
    if (!isChosen) select(selectOnly(entry.name));
    const moved: Transfer = { kind: "move", path, entries: isChosen ? chosen : [entry] };
    const moveInto = (into: string) => setDialog({ name: "transfer", transfer: moved, into });
    startDrag(event, { transfer: moved, moveInto }, labelOf(moved.entries));
  };

  const linkOf = ({ name, folder }: Entry) => {
    const full = join(base, name);
    return folder ? linkToPath(bucket, full) : linkToPath(bucket, parentOf(full), { file: nameOf(full) });
  };
  const showInFolder = ({ name }: Entry) => {
    // It may be this folder, which then stays and leaves only the search.
    setSelectionState({ isSearching: false, selection: selectOnly(nameOf(name)) });
    go(linkToPath(bucket, parentOf(name), { entry: nameOf(name) }));
  };
  const folders = new Set(chosen.map(({ name }) => parentOf(join(base, name))));
  const actions: EntryActions = {
    onOpen: (entry) => go(linkOf(entry)),
    onRename: () => setDialog({ name: "rename" }),
    onMove: () => transfer("move"),
    onCopy: () => transfer("copy"),
    // Copies are beside their originals.
    onDuplicate: folders.size === 1 ? () => transfer("copy", ...folders) : undefined,
    onDelete: () => setDialog({ name: "delete" }),
    onShare: () => setDialog({ name: "share" }),
    onShow: isSearching ? showInFolder : undefined,
  };
  const [one] = chosen;
  const mayChange = access.files !== undefined && one !== undefined;
  const onKey = (key: string) => {
    if (key === "Backspace" && base !== "") go(linkToPath(bucket, parentOf(path)));
    else if (key === "Delete" && mayChange) actions.onDelete();
    else if (key === "F2" && mayChange) (chosen.length === 1 ? actions.onRename : actions.onMove)();
    else return false;
    return true;
  };

  return (
    <>
      {access.why !== "" && <p class="notice">{access.why}</p>}
      <Toolbar
        openBucket={openBucket}
        view={view}
        entries={listing.value ?? []}
        layout={layout}
        onLayout={(chosen) => {
          browserStorage.write(layoutKey, chosen);
          setLayout(chosen);
        }}
        onChange={reload}
        instead={
          chosen.length > 0 && (
            <SelectionBar
              openBucket={openBucket}
              path={base}
              chosen={chosen}
              isWholeFolder={isWholeFolder}
              actions={actions}
              onClear={() => select(emptySelection)}
            />
          )
        }
      />
      {error !== undefined && <Problem error={error} retry={reload} />}
      {all === undefined && error === undefined && <Skeleton rows={8} />}
      {all !== undefined && (
        <div class="table-box files-box" aria-busy={isSearching && search.isBusy}>
          <SortBar
            layout={shape}
            order={view}
            all={entries.length > 0 && chosen.length === entries.length}
            some={chosen.length > 0}
            onAll={(every) => select(every ? selectAll(selection, names) : emptySelection)}
            onKey={onKey}
          />
          {entries.length === 0 ? (
            <EmptyList openBucket={openBucket} path={path} isEmptyFolder={!isSearching && filter === ""}>
              {isSearching ? search.emptyText : emptyText(filter, access.files !== undefined)}
            </EmptyList>
          ) : (
            <FileRows
              // A list of another shape has another scroll position.
              key={isSearching ? "found" : layout}
              label={isSearching ? t.files.found : t.files.files}
              layout={shape}
              openBucket={openBucket}
              path={base}
              entries={entries}
              selection={selection}
              select={select}
              linkOf={linkOf}
              isUnsaved={({ name }) => isUnsaved(bucket, join(base, name))}
              onOpen={actions.onOpen}
              onMenu={(entry, at) => {
                if (!selection.chosen.has(entry.name)) select(selectOnly(entry.name));
                setMenu(at);
              }}
              // One transfer at a time: another one would end it. Results have no folder around them to drag within.
              onDrag={access.files === undefined || dialog !== undefined || isSearching ? undefined : onDrag}
              onKey={onKey}
            />
          )}
          {filter !== "" && (
            <div class="files-totals muted" role="status">
              {isSearching ? search.summary : totalsText(totalsOf(entries))}
            </div>
          )}
        </div>
      )}
      <DragHint />
      {menu !== undefined && one !== undefined && (
        <ContextMenu
          // Another place is another menu.
          key={`${menu.x} ${menu.y}`}
          label={t.files.actionsFor(labelOf(chosen))}
          items={entryMenu(session, openBucket, { folder: base, entries: chosen, isWholeFolder }, actions)}
          at={menu}
          onClosed={() => setMenu(undefined)}
        />
      )}
      {dialog?.name === "rename" && one !== undefined && (
        <RenameDialog
          openBucket={openBucket}
          path={base}
          entry={one}
          onClose={close}
          onDone={() => {
            // Until the list is read again it has the old name, which the next action would take along.
            select(emptySelection);
            changed();
          }}
        />
      )}
      {dialog?.name === "share" && one !== undefined && (
        <MakeLink
          openBucket={openBucket}
          kinds={linkKindsTo(session.rights, bucket, one)}
          path={join(base, one.name)}
          onClose={close}
          onBucketChange={onBucketChange}
        />
      )}
      {dialog?.name === "transfer" && (
        <TransferDialog
          openBucket={openBucket}
          transfer={dialog.transfer}
          into={dialog.into}
          onClose={close}
          onDone={(added) => {
            // Moved entries that come back by "Undo" must not be selected.
            select({ ...emptySelection, chosen: new Set(added), active: added[0] });
            changed();
          }}
        />
      )}
      {dialog?.name === "delete" && (
        <DeleteDialog
          openBucket={openBucket}
          path={base}
          chosen={outermost(chosen)}
          onClose={close}
          onDone={() => {
            // What comes back by "Undo" must not be selected: the next deletion would take it along.
            select(emptySelection);
            changed();
          }}
        />
      )}
      {file !== "" && listing.value !== undefined && (
        <Preview
          openBucket={openBucket}
          path={join(path, file)}
          entry={listing.value.find(({ name, folder }) => name === file && !folder)}
          names={isSearching ? [] : fileNames}
          onStep={(name) => updateView({ file: name })}
          onClose={closeFile}
          onChanged={reload}
          onBucketChange={onBucketChange}
        />
      )}
    </>
  );
}

function emptyText(filter: string, mayChange: boolean): string {
  if (filter !== "") return t.files.noneContains(filter);
  return mayChange ? t.files.emptyDrop : t.files.empty;
}

interface EmptyListProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  /** Whether the folder is empty, and not only what is looked for. */
  readonly isEmptyFolder: boolean;
  readonly children: string;
}

/** Says why the list is empty; an empty folder takes files there. */
function EmptyList({ openBucket: { name, access }, path, isEmptyFolder, children }: EmptyListProps) {
  const { start, question } = useUpload();
  const { files } = access;
  if (files === undefined || !isEmptyFolder) return <p class="empty">{children}</p>;
  return (
    <div class="empty files-empty">
      <Icon name="upload" />
      <p>{children}</p>
      <Chooser
        label={t.files.chooseFiles}
        onChoose={(chosen) => start({ bucket: name, files, into: path }, chosen)}
      />
      {question}
    </div>
  );
}

/** Reloads the list after uploads, at most every 300 ms. */
function useReloadAfterUploads(reload: () => void): void {
  useEffect(() => {
    const before = uploads.arrived.value;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = uploads.arrived.subscribe((count) => {
      if (count === before || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        reload();
      }, 300);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [reload]);
}

interface ToolbarProps {
  readonly openBucket: OpenBucket;
  readonly view: FolderView;
  readonly entries: readonly Entry[];
  readonly layout: Layout;
  readonly onLayout: (layout: Layout) => void;
  readonly onChange: () => void;
  /** Shown instead of the buttons. The row keeps its height, so that nothing below it moves. */
  readonly instead: ComponentChildren;
}

/** Buttons to add files and folders, and the filter. */
function Toolbar({ openBucket, view, entries, layout, onLayout, onChange, instead }: ToolbarProps) {
  const { name, access } = openBucket;
  const { files } = access;
  const [open, setOpen] = useState<"file" | "folder">();
  const { start, question } = useUpload();
  const upload = async (dropped: DropContents, folder = "") => {
    if (files === undefined) return toast(access.why, "problem");
    await start({ bucket: name, files, into: folder === "" ? view.path : folder }, dropped);
  };
  const hovering = useDrop((dropped, folder) => runOrShowError(dropped.then((all) => upload(all, folder))));
  // Marks the row of the folder, as for entries that are dragged within the page.
  useEffect(() => {
    dropFolder.value = files && (hovering || undefined);
  }, [hovering]);
  return (
    <>
      <div class="files-bar">
        {instead || (
          <div class="files-tools">
            {files !== undefined && (
              <>
                <Chooser label={t.files.uploadFiles} kind="primary" multiple onChoose={upload} />
                <Chooser label={t.files.uploadFolder} folders onChoose={upload} />
                <Button icon="newFolder" title={t.files.newFolder} onClick={() => setOpen("folder")}>
                  {t.files.newFolder}
                </Button>
                <Button icon="newFile" title={t.files.newFile} onClick={() => setOpen("file")}>
                  {t.files.newFile}
                </Button>
              </>
            )}
            <Button icon="drive" title={t.files.mount} onClick={() => openMount(name)}>
              {t.files.mount}
            </Button>
            <input
              type="search"
              class="files-filter"
              aria-label={t.files.filterByName}
              placeholder={t.files.filterByName}
              value={view.filter}
              onInput={(event: Event) => updateView({ filter: typed(event) })}
              onKeyDown={(event: KeyboardEvent) => {
                if (event.key !== "ArrowDown") return;
                event.preventDefault();
                document.querySelector<HTMLElement>(".files-rows")?.focus();
              }}
            />
            <Button
              icon="search"
              title={t.files.searchBucket}
              pressed={view.everywhere}
              onClick={() => updateView({ everywhere: !view.everywhere })}
            >
              {t.files.searchBucket}
            </Button>
            <IconButton
              icon={layout === "grid" ? "logs" : "grid"}
              label={layout === "grid" ? t.files.asList : t.files.asGrid}
              onClick={() => onLayout(layout === "grid" ? "list" : "grid")}
            />
          </div>
        )}
      </div>
      {hovering !== undefined && (
        // Of the folder itself, whose list is marked by it, or of one in it, whose row is.
        <p class={files !== undefined && hovering === "" ? "files-drop whole" : "files-drop"} role="status">
          {files === undefined
            ? t.files.noDrop
            : t.files.dropInto(visibleText(nameOf(hovering) || nameOf(view.path) || name))}
        </p>
      )}
      {bucketToMount() === name && <MountDialog bucket={name} onClose={closeMount} />}
      {open !== undefined && files !== undefined && (
        <NewDialog
          kind={open}
          bucket={name}
          files={files}
          path={view.path}
          entries={entries}
          onClose={() => setOpen(undefined)}
          onDone={() => {
            setOpen(undefined);
            onChange();
          }}
        />
      )}
      {question}
    </>
  );
}

interface SelectionBarProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  readonly chosen: readonly Entry[];
  /** Whether these are all entries of the folder. */
  readonly isWholeFolder: boolean;
  readonly actions: EntryActions;
  readonly onClear: () => void;
}

/** Actions for the selected entries, shown instead of the toolbar. */
function SelectionBar(props: SelectionBarProps) {
  const { openBucket, path, chosen, isWholeFolder, actions, onClear } = props;
  const session = useSession();
  const { access } = openBucket;
  const alone = chosen.length === 1 ? chosen[0] : undefined;
  const size = chosen.reduce((sum, entry) => sum + (entry.size ?? 0), 0);
  const filesOnly = chosen.every(({ folder }) => !folder);
  const further = furtherItems(session, openBucket, { folder: path, entries: chosen }, actions);
  const share = shareItem(session, openBucket, chosen, actions);
  useLayoutEffect(() => {
    coverOfSearch.current = onClear;
    return () => {
      coverOfSearch.current = undefined;
    };
  }, [onClear]);
  return (
    <div class="files-chosen" role="toolbar" aria-label={t.files.selection}>
      <span aria-live="polite">
        {t.files.selected(number(chosen.length))}
        {filesOnly && `, ${bytes(size)}`}
      </span>
      <DownloadButton openBucket={openBucket} folder={path} entries={chosen} isWholeFolder={isWholeFolder} />
      {alone !== undefined && mayCopyUrl(openBucket) && (
        <CopyButton icon="link" label={t.frame.copyUrl} text={urlOf(openBucket, path, alone)} />
      )}
      {share !== undefined && (
        <Button icon="share" title={share.label} onClick={share.onSelect}>
          {t.files.share}
        </Button>
      )}
      {access.files !== undefined && (
        <>
          {alone !== undefined && (
            <Button icon="edit" title={t.files.rename} onClick={actions.onRename}>
              {t.files.rename}
            </Button>
          )}
          <Button icon="moveTo" title={t.files.moveTo} onClick={actions.onMove}>
            {t.files.moveTo}
          </Button>
          <Button icon="trash" title={t.frame.delete} onClick={actions.onDelete}>
            {t.frame.delete}
          </Button>
        </>
      )}
      {further.length > 0 && <MoreMenu label={t.files.moreActions} items={further} />}
      <Button kind="quiet" icon="close" title={t.files.clearTitle} onClick={onClear}>
        {t.files.clear}
      </Button>
    </div>
  );
}

/** Says what dropping the dragged entries would do. */
function DragHint() {
  const folder = dropFolder.value;
  if (drag.value === undefined || folder === undefined) return null;
  const what = labelOf(drag.value.transfer.entries);
  return (
    <p class="files-drop" role="status">
      {dragProblem(folder) ??
        t.files.dropMoves(what, folder === "" ? t.files.topFolder : visibleText(nameOf(folder)))}
    </p>
  );
}

/** The name of one entry, or the number of several. */
function labelOf(entries: readonly Pick<Entry, "name">[]): string {
  return entries.length === 1 ? visibleText(entries[0]?.name ?? "") : t.frame.countItems(entries.length);
}

const maxResults = 500;
/** Pause in typing after which the server is asked. */
const typingMs = 250;

interface Search {
  /** Found files and folders, with their paths in the bucket as names; undefined until the server has answered. */
  readonly entries: readonly Entry[] | undefined;
  readonly error: unknown;
  /** Whether the entries are still those of an earlier query. */
  readonly isBusy: boolean;
  /** How many were found, and whether there are more. */
  readonly summary: string;
  /** Says that there are none. */
  readonly emptyText: string;
  readonly reload: () => void;
}

/** Searches the whole bucket for paths that contain all words of a query. An empty query finds nothing. */
function useSearch(bucket: string, query: string): Search {
  const { client } = useSession();
  const wanted = useSettled(query);
  const { value, error, loading, reload } = useLoad(
    async (signal) =>
      wanted === ""
        ? undefined
        : client.call(
            "static-bucket-file_search",
            { name: bucket, query: wanted, limit: maxResults },
            { signal },
          ),
    [bucket, wanted],
  );
  const entries = useMemo(
    () =>
      value?.entries.map(({ path, kind, size, mtime }) => {
        const folder = kind === "folder";
        return { name: path, folder, size: folder ? undefined : size, changed: mtime };
      }),
    [value],
  );
  const more = !value?.complete
    ? ` · ${t.files.searchIncomplete}`
    : value.more
      ? ` · ${t.files.searchMore(number(maxResults))}`
      : "";
  return {
    entries,
    error,
    isBusy: loading || wanted !== query,
    summary: t.frame.countItems(entries?.length ?? 0) + more,
    emptyText: t.files.nothingFound(visibleText(wanted)),
    reload,
  };
}

/** The text once it has not changed for a moment. A text after none is taken at once. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settled === "" ? 0 : typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
