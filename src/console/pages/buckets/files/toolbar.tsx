import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "../../../ui/button.tsx";
import { typed } from "../../../ui/field.tsx";
import { MountDialog } from "../mount/mount-dialog.tsx";
import type { Opened } from "../opened.ts";
import type { Dropped } from "../uploads/drop.ts";
import { runOrShowError } from "../uploads/upload-start.ts";
import { useDrop } from "../uploads/use-drop.ts";
import { useUpload } from "../uploads/use-upload.tsx";
import type { Entry } from "./entry.ts";
import { NewDialog } from "./new-dialog.tsx";
import { amendPlace, type Place } from "./place.ts";

export interface ToolbarProps {
  readonly opened: Opened;
  readonly place: Place;
  readonly entries: readonly Entry[];
  readonly onChange: () => void;
  /** Shown in the place of the tools: the row keeps its height, so that nothing below it moves. */
  readonly instead: ComponentChildren;
}

/** What can be put into the folder, and the filter of what is in it. */
export function Toolbar({ opened, place, entries, onChange, instead }: ToolbarProps) {
  const { name, door } = opened;
  const { files } = door;
  const [open, setOpen] = useState<"file" | "folder" | "mount">();
  const { begin, question } = useUpload(opened, place.path);
  const hovering = useDrop((dropped) => runOrShowError(dropped.then(begin)));
  return (
    <>
      <div class="files-bar">
        {instead || (
          <div class="files-tools">
            {files !== undefined && (
              <>
                <Chooser label="Upload files" onChoose={begin} />
                <Chooser label="Upload folder" folders onChoose={begin} />
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
              value={place.filter}
              onInput={(event: Event) => amendPlace({ filter: typed(event) })}
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
          path={place.path}
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

/** Every browser knows it, no standard does. */
const wholeFolder = { webkitdirectory: true };

interface ChooserProps {
  readonly label: string;
  readonly folders?: boolean;
  readonly onChoose: (dropped: Dropped) => Promise<void>;
}

/** A button in front of the browser's own, which cannot be styled. */
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
          // The same files can be chosen again.
          box.value = "";
          runOrShowError(onChoose({ files, emptyFolders: [] }));
        }}
      />
    </>
  );
}
