import { ago, bytes, time } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { FileName } from "../../../ui/file-name.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { type EntryProps, entryEvents, toggle } from "./entry-events.ts";
import { KindIcon } from "./kind-icon.tsx";

/** Table elements cannot be positioned freely, so the list uses other elements with table roles. */
const asCell = { role: "gridcell" } as const;

/** Row of a file or folder. Its link and checkbox are for pointers; the list handles the keyboard. */
export function FileRow(props: EntryProps) {
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
    </div>
  );
}
