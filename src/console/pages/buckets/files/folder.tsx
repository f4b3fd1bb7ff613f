import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { cameBack, go } from "../../../route.ts";
import { useSession } from "../../../session.ts";
import { browserStorage } from "../../../storage.ts";
import { t } from "../../../text/text.ts";
import { useLoad } from "../../../ui/call.tsx";
import { ContextMenu, type ContextMenuProps } from "../../../ui/more-menu.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { linkKindsTo, MakeLink } from "../links/link-form.tsx";
import { join, nameOf, parentOf } from "../path.ts";
import { isUnsaved } from "../preview/drafts.ts";
import { Preview } from "../preview/preview.tsx";
import { uploads } from "../uploads/upload-queue.ts";
import { type Totals, totalsOf, totalsText } from "./breadcrumbs.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { DragHint, labelOf } from "./drag-hint.tsx";
import { startDrag } from "./drag-move.ts";
import { type Entry, filtered, outermost, sorted } from "./entries.ts";
import { type EntryActions, entryMenu } from "./entry-menu.ts";
import { FileRows, type Layout, SortBar } from "./file-rows.tsx";
import { closeFile, type FolderView, linkToPath, updateView } from "./folder-view.ts";
import { RenameDialog } from "./rename-dialog.tsx";
import { emptySelection, restrictTo, type Selection, selectAll, selectOnly } from "./selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { Toolbar } from "./toolbar.tsx";
import type { Transfer } from "./transfer.ts";
import { TransferDialog } from "./transfer-dialog.tsx";
import { useSearch } from "./use-search.ts";

/** Where the browser keeps whether files are a list or a grid. */
const layoutKey = "node-server-files-layout";

/** Open dialog. `into` is the destination, if it is decided already. */
type OpenDialog =
  | { readonly name: "rename" | "delete" | "share" }
  | { readonly name: "transfer"; readonly transfer: Transfer; readonly into?: string };

interface FolderProps {
  readonly openBucket: OpenBucket;
  readonly view: FolderView;
  /** Called with what the folder contains, and with undefined while that is not known. */
  readonly onTotals: (totals: Totals | undefined) => void;
}

/** File list of one folder, with its toolbar, dialogs and preview. */
export function Folder({ openBucket, view, onTotals }: FolderProps) {
  const session = useSession();
  const { name: bucket, access } = openBucket;
  const { path, file, entry, filter, everywhere, sort, down } = view;
  const query = everywhere ? filter.trim() : "";
  const isSearching = query !== "";
  const search = useSearch(bucket, query);
  const listing = useLoad((signal) => access.list(path, signal), [access, path]);
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
            <p class="empty">
              {isSearching ? search.emptyText : emptyText(filter, access.files !== undefined)}
            </p>
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
          name={bucket}
          kinds={linkKindsTo(session.rights, bucket, one)}
          path={join(base, one.name)}
          onClose={close}
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
          onUndone={reload}
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
          onUndone={reload}
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
        />
      )}
    </>
  );
}

function emptyText(filter: string, mayChange: boolean): string {
  if (filter !== "") return t.files.noneContains(filter);
  return mayChange ? t.files.emptyDrop : t.files.empty;
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
