import { useEffect, useMemo, useState } from "preact/hooks";
import { go } from "../../../route.ts";
import { useLoad } from "../../../ui/load.ts";
import { Problem } from "../../../ui/problem.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { join, parentOf } from "../path.ts";
import { isUnsaved } from "../preview/drafts.ts";
import { Preview } from "../preview/preview.tsx";
import { uploads } from "../uploads/upload-queue.ts";
import { DeleteDialog } from "./delete-dialog.tsx";
import { type Entry, filtered, sorted } from "./entries.ts";
import { FileRows, SortBar } from "./file-rows.tsx";
import { closeFile, type FolderView, linkToPath } from "./folder-view.ts";
import { MoveDialog } from "./move-dialog.tsx";
import { emptySelection, restrictTo, selectAll } from "./selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { Toolbar } from "./toolbar.tsx";

/** File list of one folder, with its toolbar, dialogs and preview. */
export function Folder({ openBucket, view }: { readonly openBucket: OpenBucket; readonly view: FolderView }) {
  const { name: bucket, access } = openBucket;
  const { path, file, filter, sort, down } = view;
  const { value, error, reload } = useLoad((signal) => access.list(path, signal), [access, path]);
  const entries = useMemo(
    () => sorted(filtered(value ?? [], filter), { sort, down }),
    [value, filter, sort, down],
  );
  const names = useMemo(() => entries.map(({ name }) => name), [entries]);
  const [selected, select] = useState(emptySelection);
  const selection = useMemo(() => restrictTo(selected, names), [selected, names]);
  const chosen = entries.filter(({ name }) => selection.chosen.has(name));
  const [dialog, setDialog] = useState<"move" | "delete">();
  useReloadAfterUploads(reload);
  const close = () => setDialog(undefined);
  const changed = () => {
    close();
    reload();
  };

  const linkOf = ({ name, folder }: Entry) =>
    folder ? linkToPath(bucket, join(path, name)) : linkToPath(bucket, path, name);
  const onKey = (key: string) => {
    if (key === "Backspace" && path !== "") go(linkToPath(bucket, parentOf(path)));
    else if (key === "Delete" && access.files !== undefined && chosen.length > 0) setDialog("delete");
    else if (key === "F2" && access.files !== undefined && chosen.length > 0) setDialog("move");
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
        onChange={reload}
        instead={
          chosen.length > 0 && (
            <SelectionBar
              openBucket={openBucket}
              path={path}
              chosen={chosen}
              onMove={() => setDialog("move")}
              onDelete={() => setDialog("delete")}
              onClear={() => select(emptySelection)}
            />
          )
        }
      />
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && (
        <div class="table-box files-box">
          <SortBar
            order={view}
            all={entries.length > 0 && chosen.length === entries.length}
            some={chosen.length > 0}
            onAll={(every) => select(every ? selectAll(selection, names) : emptySelection)}
          />
          {entries.length === 0 ? (
            <p class="empty">{emptyText(filter, access.files !== undefined)}</p>
          ) : (
            <FileRows
              entries={entries}
              selection={selection}
              select={select}
              linkOf={linkOf}
              isUnsaved={({ name }) => isUnsaved(bucket, join(path, name))}
              onOpen={(entry) => go(linkOf(entry))}
              onKey={onKey}
            />
          )}
        </div>
      )}
      {dialog === "move" && (
        <MoveDialog openBucket={openBucket} path={path} chosen={chosen} onClose={close} onDone={changed} />
      )}
      {dialog === "delete" && (
        <DeleteDialog openBucket={openBucket} path={path} chosen={chosen} onClose={close} onDone={changed} />
      )}
      {file !== "" && value !== undefined && (
        <Preview
          key={file}
          openBucket={openBucket}
          path={join(path, file)}
          entry={value.find(({ name, folder }) => name === file && !folder)}
          onClose={closeFile}
          onChanged={reload}
        />
      )}
    </>
  );
}

function emptyText(filter: string, mayChange: boolean): string {
  if (filter !== "") return `No name here contains “${filter}”.`;
  return mayChange
    ? "This folder is empty. Drop files or whole folders here, or use the buttons above."
    : "This folder is empty.";
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
