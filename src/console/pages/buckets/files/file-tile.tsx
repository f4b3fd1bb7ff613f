import type { ComponentChildren } from "preact";
import { bytes } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { FileName } from "../../../ui/file-name.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { type EntryProps, entryEvents, toggle } from "./entry-events.ts";
import { KindPicture } from "./kind-icon.tsx";

interface TileLineProps {
  readonly line: number;
  readonly columns: number;
  readonly children: ComponentChildren;
}

/** Line of tiles, which share its width. */
export function TileLine({ line, columns, children }: TileLineProps) {
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
export function FileTile(props: EntryProps & { readonly column: number }) {
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
    </div>
  );
}
