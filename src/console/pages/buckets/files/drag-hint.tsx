import { t } from "../../../text/text.ts";
import { visibleText } from "../../../ui/visible-text.ts";
import { nameOf } from "../path.ts";
import { drag, dragProblem, dropFolder } from "./drag-move.ts";
import type { Entry } from "./entries.ts";

/** Says what dropping the dragged entries would do. */
export function DragHint() {
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
export function labelOf(entries: readonly Pick<Entry, "name">[]): string {
  return entries.length === 1 ? visibleText(entries[0]?.name ?? "") : t.frame.countItems(entries.length);
}
