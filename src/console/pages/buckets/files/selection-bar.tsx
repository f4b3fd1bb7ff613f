import { useLayoutEffect } from "preact/hooks";
import { bytes, number } from "../../../format.ts";
import { coverOfSearch } from "../../../keyboard/cover-of-search.ts";
import { useSession } from "../../../session.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { MoreMenu } from "../../../ui/more-menu.tsx";
import { mayCopyUrl, type OpenBucket } from "../bucket-access.ts";
import { DownloadButton } from "../preview/download.tsx";
import type { Entry } from "./entries.ts";
import { type EntryActions, furtherItems, urlOf } from "./entry-menu.ts";

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
export function SelectionBar(props: SelectionBarProps) {
  const { openBucket, path, chosen, isWholeFolder, actions, onClear } = props;
  const session = useSession();
  const { access } = openBucket;
  const alone = chosen.length === 1 ? chosen[0] : undefined;
  const size = chosen.reduce((sum, entry) => sum + (entry.size ?? 0), 0);
  const filesOnly = chosen.every(({ folder }) => !folder);
  const further = furtherItems(session, openBucket, chosen, actions);
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
        <CopyButton label={t.frame.copyUrl} text={urlOf(openBucket, path, alone)} />
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
