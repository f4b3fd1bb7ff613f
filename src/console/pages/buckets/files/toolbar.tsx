import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "../../../ui/button.tsx";
import { typed } from "../../../ui/field.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { MountDialog } from "../mount/mount-dialog.tsx";
import type { Dropped } from "../uploads/drop.ts";
import { runOrShowError } from "../uploads/upload-start.ts";
import { useDrop, useUpload } from "../uploads/use-upload.tsx";
import type { Entry } from "./entries.ts";
import { type FolderView, updateView } from "./folder-view.ts";
import { NewDialog } from "./new-dialog.tsx";

export interface ToolbarProps {
  readonly openBucket: OpenBucket;
  readonly view: FolderView;
  readonly entries: readonly Entry[];
  readonly onChange: () => void;
  /** Shown instead of the buttons. The row keeps its height, so that nothing below it moves. */
  readonly instead: ComponentChildren;
}

/** Buttons to add files and folders, and the filter. */
export function Toolbar({ openBucket, view, entries, onChange, instead }: ToolbarProps) {
  const { name, access } = openBucket;
  const { files } = access;
  const [open, setOpen] = useState<"file" | "folder" | "mount">();
  const { start, question } = useUpload(openBucket, view.path);
  const hovering = useDrop((dropped) => runOrShowError(dropped.then(start)));
  return (
    <>
      <div class="files-bar">
        {instead || (
          <div class="files-tools">
            {files !== undefined && (
              <>
                <Chooser label="Upload files" onChoose={start} />
                <Chooser label="Upload folder" folders onChoose={start} />
                <Button icon="newFolder" title="New folder" onClick={() => setOpen("folder")}>
                  New folder
                </Button>
                <Button icon="newFile" title="New file" onClick={() => setOpen("file")}>
                  New file
                </Button>
              </>
            )}
            <Button icon="drive" title="Mount" onClick={() => setOpen("mount")}>
              Mount
            </Button>
            <input
              type="search"
              class="files-filter"
              aria-label="Filter by name"
              placeholder="Filter by name"
              value={view.filter}
              onInput={(event: Event) => updateView({ filter: typed(event) })}
            />
          </div>
        )}
      </div>
      {hovering && (
        <p class="files-drop" role="status">
          {files === undefined ? "Nothing can be dropped here." : "Drop to upload into this folder."}
        </p>
      )}
      {open === "mount" && <MountDialog bucket={name} onClose={() => setOpen(undefined)} />}
      {(open === "file" || open === "folder") && files !== undefined && (
        <NewDialog
          kind={open}
          bucket={name}
          files={files}
          path={view.path}
          entries={entries}
          onClose={() => setOpen(undefined)}
          onDone={() => {
            setOpen(undefined);
            onChange();
          }}
        />
      )}
      {question}
    </>
  );
}

/** Nonstandard attribute that all browsers support. */
const wholeFolder = { webkitdirectory: true };

interface ChooserProps {
  readonly label: string;
  readonly folders?: boolean;
  readonly onChoose: (dropped: Dropped) => Promise<void>;
}

/** Button for a hidden file input, which cannot be styled. */
function Chooser({ label, folders = false, onChoose }: ChooserProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button
        icon={folders ? "uploadFolder" : "upload"}
        title={label}
        {...(folders ? {} : { kind: "primary" })}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        {...(folders ? wholeFolder : {})}
        class="unseen"
        tabIndex={-1}
        aria-label={label}
        onChange={() => {
          const box = input.current;
          if (box === null) return;
          const files = [...(box.files ?? [])].map((file) => ({
            path: file.webkitRelativePath || file.name,
            file,
          }));
          // Without a reset, choosing the same files again would fire no event.
          box.value = "";
          runOrShowError(onChoose({ files, emptyFolders: [] }));
        }}
      />
    </>
  );
}
