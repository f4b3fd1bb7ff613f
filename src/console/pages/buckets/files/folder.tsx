import { useEffect, useMemo, useState } from "preact/hooks";
import { go } from "../../../route.ts";
import { useSession } from "../../../session.ts";
import { browserStorage } from "../../../storage.ts";
import { t } from "../../../text/text.ts";
import { useLoad } from "../../../ui/load.ts";
import { ContextMenu, type ContextMenuProps } from "../../../ui/more-menu.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { visibleText } from "../../../ui/visible-text.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { join, nameOf, parentOf } from "../path.ts";
import { isUnsaved } from "../preview/drafts.ts";
import { Preview } from "../preview/preview.tsx";
import { uploads } from "../uploads/upload-queue.ts";
import { type Totals, totalsOf, totalsText } from "./breadcrumbs.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { drag, dragProblem, dropFolder, startDrag } from "./drag-move.ts";
import { type Entry, filtered, sorted } from "./entries.ts";
import { type EntryActions, entryMenu } from "./entry-menu.ts";
import { FileRows, type Layout, SortBar } from "./file-rows.tsx";
import { closeFile, type FolderView, linkToPath, updateView } from "./folder-view.ts";
import { RenameDialog } from "./rename-dialog.tsx";
import { SearchResults } from "./search-results.tsx";
import { emptySelection, restrictTo, selectAll, selectOnly } from "./selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { Toolbar } from "./toolbar.tsx";
import type { Transfer } from "./transfer.ts";
import { TransferDialog } from "./transfer-dialog.tsx";

/** Where the browser keeps whether files are a list or a grid. */
const layoutKey = "node-server-files-layout";

/** Open dialog. `into` is the destination, if it is decided already. */
type OpenDialog =
  | { readonly name: "rename" | "delete" }
  | { readonly name: "transfer"; readonly transfer: Transfer; readonly into?: string };

export interface FolderProps {
  readonly openBucket: OpenBucket;
  readonly view: FolderView;
  /** Called with what the folder contains, and with undefined while that is not known. */
  readonly onTotals: (totals: Totals | undefined) => void;
}

/** File list of one folder, with its toolbar, dialogs and preview. */
export function Folder({ openBucket, view, onTotals }: FolderProps) {
  const session = useSession();
  const { name: bucket, access } = openBucket;
  const { path, file, filter, everywhere, sort, down } = view;
  const isSearching = everywhere && filter.trim() !== "";
  const { value, error, reload } = useLoad((signal) => access.list(path, signal), [access, path]);
  const entries = useMemo(
    () => sorted(filtered(value ?? [], filter), { sort, down }),
    [value, filter, sort, down],
  );
  const names = useMemo(() => entries.map(({ name }) => name), [entries]);
  const fileNames = useMemo(() => entries.filter(({ folder }) => !folder).map(({ name }) => name), [entries]);
  const [selected, select] = useState(emptySelection);
  const selection = useMemo(() => restrictTo(selected, names), [selected, names]);
  const chosen = entries.filter(({ name }) => selection.chosen.has(name));
  const [layout, setLayout] = useState<Layout>(() =>
    browserStorage.read(layoutKey) === "grid" ? "grid" : "list",
  );
  const [dialog, setDialog] = useState<OpenDialog>();
  const [menu, setMenu] = useState<ContextMenuProps["at"]>();
  useReloadAfterUploads(reload);
  useEffect(() => {
    onTotals(value && totalsOf(value));
    return () => onTotals(undefined);
  }, [value]);
  const close = () => setDialog(undefined);
  const changed = () => {
    close();
    reload();
  };
  const transfer = (kind: Transfer["kind"], into?: string) =>
    setDialog({
      name: "transfer",
      transfer: { kind, path, entries: chosen },
      ...(into === undefined ? {} : { into }),
    });
  const onDrag = (entry: Entry, event: DragEvent) => {
    const isChosen = selection.chosen.has(entry.name);
    if (!isChosen) select(selectOnly(entry.name));
    const moved: Transfer = { kind: "move", path, entries: isChosen ? chosen : [entry] };
    const moveInto = (into: string) => setDialog({ name: "transfer", transfer: moved, into });
    startDrag(event, { transfer: moved, moveInto }, labelOf(moved.entries));
  };

  const linkOf = ({ name, folder }: Entry) =>
    folder ? linkToPath(bucket, join(path, name)) : linkToPath(bucket, path, name);
  const actions: EntryActions = {
    onOpen: (entry) => go(linkOf(entry)),
    onRename: () => setDialog({ name: "rename" }),
    onMove: () => transfer("move"),
    onCopy: () => transfer("copy"),
    onDuplicate: () => transfer("copy", path),
    onDelete: () => setDialog({ name: "delete" }),
  };
  const [one] = chosen;
  const mayChange = access.files !== undefined && one !== undefined;
  const onKey = (key: string) => {
    if (key === "Backspace" && path !== "") go(linkToPath(bucket, parentOf(path)));
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
        entries={value ?? []}
        layout={layout}
        onLayout={(chosen) => {
          browserStorage.write(layoutKey, chosen);
          setLayout(chosen);
        }}
        onChange={reload}
        instead={
          chosen.length > 0 &&
          !isSearching && (
            <SelectionBar
              openBucket={openBucket}
              path={path}
              chosen={chosen}
              isWholeFolder={chosen.length === value?.length}
              actions={actions}
              onClear={() => select(emptySelection)}
            />
          )
        }
      />
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <Skeleton rows={8} />}
      {isSearching && <SearchResults openBucket={openBucket} query={filter.trim()} />}
      {value !== undefined && !isSearching && (
        <div class="table-box files-box">
          <SortBar
            layout={layout}
            order={view}
            all={entries.length > 0 && chosen.length === entries.length}
            some={chosen.length > 0}
            onAll={(every) => select(every ? selectAll(selection, names) : emptySelection)}
          />
          {entries.length === 0 ? (
            <p class="empty">{emptyText(filter, access.files !== undefined)}</p>
          ) : (
            <FileRows
              // A list of another shape has another scroll position.
              key={layout}
              layout={layout}
              openBucket={openBucket}
              path={path}
              entries={entries}
              selection={selection}
              select={select}
              linkOf={linkOf}
              isUnsaved={({ name }) => isUnsaved(bucket, join(path, name))}
              onOpen={actions.onOpen}
              onMenu={(entry, at) => {
                if (!selection.chosen.has(entry.name)) select(selectOnly(entry.name));
                setMenu(at);
              }}
              // One transfer at a time: another one would end it.
              onDrag={access.files === undefined || dialog !== undefined ? undefined : onDrag}
              onKey={onKey}
            />
          )}
          {filter !== "" && <footer class="files-totals muted">{totalsText(totalsOf(entries))}</footer>}
        </div>
      )}
      <DragHint />
      {menu !== undefined && one !== undefined && (
        <ContextMenu
          // Another place is another menu.
          key={`${menu.x} ${menu.y}`}
          label={t.files.actionsFor(labelOf(chosen))}
          items={entryMenu(
            session,
            openBucket,
            { folder: path, entries: chosen, isWholeFolder: chosen.length === value?.length },
            actions,
          )}
          at={menu}
          onClosed={() => setMenu(undefined)}
        />
      )}
      {dialog?.name === "rename" && one !== undefined && (
        <RenameDialog
          openBucket={openBucket}
          path={path}
          entry={one}
          onClose={close}
          onDone={() => {
            // Until the list is read again it has the old name, which the next action would take along.
            select(emptySelection);
            changed();
          }}
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
          path={path}
          chosen={chosen}
          onClose={close}
          onDone={() => {
            // What comes back by "Undo" must not be selected: the next deletion would take it along.
            select(emptySelection);
            changed();
          }}
          onUndone={reload}
        />
      )}
      {file !== "" && value !== undefined && (
        <Preview
          openBucket={openBucket}
          path={join(path, file)}
          entry={value.find(({ name, folder }) => name === file && !folder)}
          names={fileNames}
          onStep={(name) => updateView({ file: name })}
          onClose={closeFile}
          onChanged={reload}
        />
      )}
    </>
  );
}

/** The name of one entry, or the number of several. */
function labelOf(entries: readonly Pick<Entry, "name">[]): string {
  return entries.length === 1 ? visibleText(entries[0]?.name ?? "") : t.frame.countItems(entries.length);
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
