import { bytes, plural } from "../../../format.ts";
import { serverUrl } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { join, publicUrl } from "../path.ts";
import { DownloadButton } from "../preview/download.tsx";
import type { Entry } from "./entries.ts";

export interface SelectionBarProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  readonly chosen: readonly Entry[];
  readonly onMove: () => void;
  readonly onDelete: () => void;
  readonly onClear: () => void;
}

/** Browsers ask again for each of many downloads. */
const maxDownloads = 20;

/** Actions for the selected entries, shown instead of the toolbar. */
export function SelectionBar({ openBucket, path, chosen, onMove, onDelete, onClear }: SelectionBarProps) {
  const { name, bucket, access } = openBucket;
  const [one] = chosen;
  const alone = chosen.length === 1 ? one : undefined;
  const size = chosen.reduce((sum, entry) => sum + (entry.size ?? 0), 0);
  const filesOnly = chosen.every(({ folder }) => !folder);
  return (
    <div class="files-chosen" role="toolbar" aria-label="Selection">
      <span aria-live="polite">
        {chosen.length.toLocaleString("en")} selected
        {filesOnly && `, ${bytes(size)}`}
      </span>
      <DownloadButton
        openBucket={openBucket}
        paths={chosen.map((entry) => join(path, entry.name))}
        refusal={downloadRefusal(filesOnly, chosen.length)}
      />
      {alone !== undefined && access.isPublic !== false && (
        <CopyButton
          label="Copy URL"
          text={`${publicUrl(serverUrl, { bucket: name, isRoot: bucket?.is_http_root ?? false, path: join(path, alone.name) })}${alone.folder ? "/" : ""}`}
        />
      )}
      {access.files !== undefined && (
        <>
          <Button icon="edit" title="Rename or move" onClick={onMove}>
            {alone === undefined ? `Move ${plural(chosen.length, "item")}` : "Rename or move"}
          </Button>
          <Button icon="trash" title="Delete" onClick={onDelete}>
            Delete
          </Button>
        </>
      )}
      <Button kind="quiet" icon="close" title="Clear the selection" onClick={onClear}>
        Clear
      </Button>
    </div>
  );
}

/** Reason why the selection cannot be downloaded; undefined when it can. */
function downloadRefusal(filesOnly: boolean, count: number): string | undefined {
  if (!filesOnly) return "Folders cannot be downloaded here. Mount the bucket, or use node-server pull.";
  return count > maxDownloads
    ? `A browser downloads at most ${maxDownloads} files at once. Select fewer, mount the bucket, or use node-server pull.`
    : undefined;
}
