import type { HTMLAttributes, RefObject } from "preact";
import { bytes, time } from "../../../format.ts";
import { Icon } from "../../../ui/icons.tsx";
import { FileName, visibleText } from "../../../ui/visible-text.tsx";
import type { Entry } from "./entry.ts";
import type { FileRowsProps } from "./file-rows.tsx";
import { only, rangeTo, toggled } from "./selection.ts";

/** The elements of a table cannot be placed freely, so others have its roles. */
const asCell = { role: "gridcell" } as const;

export interface FileRowProps extends FileRowsProps {
  readonly entry: Entry;
  readonly names: readonly string[];
  readonly index: number;
  readonly id: string;
  /** The entry that the first of several clicks in a row was on, shared by all rows. */
  readonly firstClicked: RefObject<Entry | undefined>;
}

/** Its link and its box are for pointers; the keyboard has the keys of the list. */
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
      // The browser would open the link in a new tab or window.
      event.preventDefault();
    }
    if (event.detail <= 1) firstClicked.current = entry;
    // The second click of a double click: the first has selected, and the list may have moved since.
    else if (!hasModifier(event)) return;
    if (event.shiftKey) select(rangeTo(selection, name, names));
    else if (event.ctrlKey || event.metaKey) select(toggled(selection, name));
    else select(only(name));
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
