import type { HTMLAttributes, RefObject } from "preact";
import { bytes, time } from "../../../format.ts";
import { Icon } from "../../../ui/icons.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { Entry } from "./entries.ts";
import { rangeTo, type Selection, selectOnly, toggled } from "./selection.ts";

/** Table elements cannot be positioned freely, so the list uses other elements with table roles. */
const asCell = { role: "gridcell" } as const;

/** Shared by all rows of a list. */
export interface RowContext {
  readonly selection: Selection;
  readonly select: (selection: Selection) => void;
  readonly linkOf: (entry: Entry) => string;
  /** Whether the editor holds unsaved changes to the file. */
  readonly isUnsaved: (entry: Entry) => boolean;
  readonly onOpen: (entry: Entry) => void;
}

export interface FileRowProps extends RowContext {
  readonly entry: Entry;
  readonly names: readonly string[];
  readonly index: number;
  readonly id: string;
  /** Entry of the first click of a double click, shared by all rows. */
  readonly firstClicked: RefObject<Entry | undefined>;
}

/** Row of a file or folder. Its link and checkbox are for pointers; the list handles the keyboard. */
export function FileRow(props: FileRowProps) {
  const { entry, names, index, id, selection, select, linkOf, isUnsaved, onOpen, firstClicked } = props;
  const { name, folder, size, changed } = entry;
  const shown = visibleText(name);
  const chosen = selection.chosen.has(name);
  const pick = (event: MouseEvent) => {
    if (event.detail <= 1) firstClicked.current = undefined;
    const target = event.target instanceof Element ? event.target : undefined;
    if (target?.closest("input")) return;
    if (target?.closest("a")) {
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
  const row: HTMLAttributes<HTMLDivElement> = {
    role: "row",
    id,
    class: `files-row${chosen ? " chosen" : ""}${selection.active === name ? " active" : ""}`,
    "aria-rowindex": index + 1,
    "aria-selected": chosen,
    onClick: pick,
    onDblClick: (event: MouseEvent) => {
      const { current } = firstClicked;
      if (current !== undefined && !hasModifier(event)) onOpen(current);
    },
  };
  return (
    <div {...row}>
      <span {...asCell} class="files-check">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${shown}`}
          checked={chosen}
          onClick={(event: MouseEvent) =>
            select(event.shiftKey ? rangeTo(selection, name, names) : toggled(selection, name))
          }
        />
      </span>
      <span {...asCell} class="files-name">
        <Icon name={folder ? "folder" : "file"} />
        <a href={linkOf(entry)} tabIndex={-1} title={shown}>
          <FileName name={name} />
          {folder && <span class="unseen"> (folder)</span>}
        </a>
        {isUnsaved(entry) && <span class="badge warn">unsaved changes</span>}
      </span>
      <span {...asCell} class="files-size">
        {size === undefined ? "" : bytes(size)}
      </span>
      <span {...asCell} class="files-changed">
        {time(changed)}
      </span>
    </div>
  );
}

function hasModifier({ shiftKey, ctrlKey, metaKey }: MouseEvent): boolean {
  return shiftKey || ctrlKey || metaKey;
}
