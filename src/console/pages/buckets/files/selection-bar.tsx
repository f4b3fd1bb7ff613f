import { bytes, plural } from "../../../format.ts";
import { serverUrl } from "../../../session.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { publicUrl } from "../addresses.ts";
import type { Opened } from "../opened.ts";
import { join } from "../path.ts";
import { DownloadButton } from "../preview/download.tsx";
import type { Entry } from "./entry.ts";

export interface SelectionBarProps {
  readonly opened: Opened;
  readonly path: string;
  readonly chosen: readonly Entry[];
  readonly onMove: () => void;
  readonly onDelete: () => void;
  readonly onClear: () => void;
}

/** A browser asks for each of many; WebDAV and rclone are made for more. */
const maxDownloads = 20;

/** What can be done with what is chosen, in the place of the toolbar. */
export function SelectionBar({ opened, path, chosen, onMove, onDelete, onClear }: SelectionBarProps) {
  const { name, bucket, door } = opened;
  const [one] = chosen;
  const alone = chosen.length === 1 ? one : undefined;
  const size = chosen.reduce((sum, entry) => sum + (entry.size ?? 0), 0);
  const filesOnly = chosen.every(({ folder }) => !folder);
  return (
    <div class="files-chosen" role="toolbar" aria-label="What is selected">
      <span aria-live="polite">
        {chosen.length.toLocaleString("en")} selected
        {filesOnly && `, ${bytes(size)}`}
      </span>
      <DownloadButton
        opened={opened}
        paths={chosen.map((entry) => join(path, entry.name))}
        refusal={downloadRefusal(filesOnly, chosen.length)}
      />
      {alone !== undefined && door.isPublic !== false && (
        <CopyButton
          label="Copy URL"
          text={`${publicUrl(serverUrl, name, bucket?.is_http_root ?? false, join(path, alone.name))}${alone.folder ? "/" : ""}`}
        />
      )}
      {door.files !== undefined && (
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

/** Why a browser cannot download the selection; undefined when it can. */
function downloadRefusal(filesOnly: boolean, count: number): string | undefined {
  if (!filesOnly) return "Folders cannot be downloaded here. Mount the bucket, or use node-server pull.";
  return count > maxDownloads
    ? `A browser downloads at most ${maxDownloads} files at once. Select fewer, mount the bucket, or use node-server pull.`
    : undefined;
}
