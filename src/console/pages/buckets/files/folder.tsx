import { useEffect, useMemo, useState } from "preact/hooks";
import { go } from "../../../route.ts";
import { useLoad } from "../../../ui/load.ts";
import { Problem } from "../../../ui/problem.tsx";
import type { Opened } from "../opened.ts";
import { join, parentOf } from "../path.ts";
import { isUnsaved } from "../preview/drafts.ts";
import { Preview } from "../preview/preview.tsx";
import { uploads } from "../uploads/uploads.ts";
import { Breadcrumbs } from "./breadcrumbs.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import type { Entry } from "./entry.ts";
import { FileRows } from "./file-rows.tsx";
import { MoveDialog } from "./move-dialog.tsx";
import { filtered, sorted } from "./order.ts";
import { closeFile, linkToPlace, type Place } from "./place.ts";
import { all, nothing, within } from "./selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { SortBar } from "./sort-bar.tsx";
import { Toolbar } from "./toolbar.tsx";

/** One folder of a bucket. */
export function Folder({ opened, place }: { readonly opened: Opened; readonly place: Place }) {
  const { name: bucket, door } = opened;
  const { path, file, filter, sort, down } = place;
  const { value, error, reload } = useLoad((signal) => door.list(path, signal), [door, path]);
  const entries = useMemo(
    () => sorted(filtered(value ?? [], filter), { sort, down }),
    [value, filter, sort, down],
  );
  const names = useMemo(() => entries.map(({ name }) => name), [entries]);
  const [selected, select] = useState(nothing);
  const selection = useMemo(() => within(selected, names), [selected, names]);
  const chosen = entries.filter(({ name }) => selection.chosen.has(name));
  const [dialog, setDialog] = useState<"move" | "delete">();
  useArrivals(reload);
  const close = () => setDialog(undefined);
  const changed = () => {
    close();
    reload();
  };

  const linkOf = ({ name, folder }: Entry) =>
    folder ? linkToPlace(bucket, join(path, name)) : linkToPlace(bucket, path, name);
  const onKey = (key: string) => {
    if (key === "Backspace" && path !== "") go(linkToPlace(bucket, parentOf(path)));
    else if (key === "Delete" && door.files !== undefined && chosen.length > 0) setDialog("delete");
    else if (key === "F2" && door.files !== undefined && chosen.length > 0) setDialog("move");
    else return false;
    return true;
  };

  return (
    <>
      <Breadcrumbs bucket={bucket} path={path} />
      {door.why !== "" && <p class="notice">{door.why}</p>}
      <Toolbar
        opened={opened}
        place={place}
        entries={value ?? []}
        onChange={reload}
        instead={
          chosen.length > 0 && (
            <SelectionBar
              opened={opened}
              path={path}
              chosen={chosen}
              onMove={() => setDialog("move")}
              onDelete={() => setDialog("delete")}
              onClear={() => select(nothing)}
            />
          )
        }
      />
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && (
        <div class="table-box files-box">
          <SortBar
            order={place}
            all={entries.length > 0 && chosen.length === entries.length}
            some={chosen.length > 0}
            onAll={(every) => select(every ? all(selection, names) : nothing)}
          />
          {entries.length === 0 ? (
            <p class="empty">{emptyWords(filter, door.files !== undefined)}</p>
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
        <MoveDialog opened={opened} path={path} chosen={chosen} onClose={close} onDone={changed} />
      )}
      {dialog === "delete" && (
        <DeleteDialog opened={opened} path={path} chosen={chosen} onClose={close} onDone={changed} />
      )}
      {file !== "" && value !== undefined && (
        <Preview
          key={file}
          opened={opened}
          path={join(path, file)}
          entry={value.find(({ name, folder }) => name === file && !folder)}
          onClose={closeFile}
          onChanged={reload}
        />
      )}
    </>
  );
}

function emptyWords(filter: string, mayChange: boolean): string {
  if (filter !== "") return `No name here holds “${filter}”.`;
  return mayChange
    ? "This folder is empty. Drop files or whole folders here, or use the buttons above."
    : "This folder is empty.";
}

/** Looks again when uploads have arrived; many at once are one look. */
function useArrivals(reload: () => void): void {
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
