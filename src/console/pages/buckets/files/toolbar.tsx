import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../../text/text.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { typed } from "../../../ui/form.tsx";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { OpenBucket } from "../bucket-access.ts";
import { MountDialog } from "../mount/mount-dialog.tsx";
import { bucketToMount, closeMount, openMount } from "../mount/mount-route.ts";
import { nameOf } from "../path.ts";
import type { DropContents } from "../uploads/drop.ts";
import { runOrShowError } from "../uploads/upload-start.ts";
import { useDrop, useUpload } from "../uploads/use-upload.tsx";
import { dropFolder } from "./drag-move.ts";
import type { Entry } from "./entries.ts";
import type { Layout } from "./file-rows.tsx";
import { type FolderView, updateView } from "./folder-view.ts";
import { NewDialog } from "./new-dialog.tsx";

interface ToolbarProps {
  readonly openBucket: OpenBucket;
  readonly view: FolderView;
  readonly entries: readonly Entry[];
  readonly layout: Layout;
  readonly onLayout: (layout: Layout) => void;
  readonly onChange: () => void;
  /** Shown instead of the buttons. The row keeps its height, so that nothing below it moves. */
  readonly instead: ComponentChildren;
}

/** Buttons to add files and folders, and the filter. */
export function Toolbar({ openBucket, view, entries, layout, onLayout, onChange, instead }: ToolbarProps) {
  const { name, access } = openBucket;
  const { files } = access;
  const [open, setOpen] = useState<"file" | "folder">();
  const { start, question } = useUpload();
  const upload = async (dropped: DropContents, folder = "") => {
    if (files === undefined) return toast(access.why, "problem");
    await start({ bucket: name, files, into: folder === "" ? view.path : folder }, dropped);
  };
  const hovering = useDrop((dropped, folder) => runOrShowError(dropped.then((all) => upload(all, folder))));
  // Marks the row of the folder, as for entries that are dragged within the page.
  useEffect(() => {
    dropFolder.value = files && (hovering || undefined);
  }, [hovering]);
  return (
    <>
      <div class="files-bar">
        {instead || (
          <div class="files-tools">
            {files !== undefined && (
              <>
                <Chooser label={t.files.uploadFiles} onChoose={upload} />
                <Chooser label={t.files.uploadFolder} folders onChoose={upload} />
                <Button icon="newFolder" title={t.files.newFolder} onClick={() => setOpen("folder")}>
                  {t.files.newFolder}
                </Button>
                <Button icon="newFile" title={t.files.newFile} onClick={() => setOpen("file")}>
                  {t.files.newFile}
                </Button>
              </>
            )}
            <Button icon="drive" title={t.files.mount} onClick={() => openMount(name)}>
              {t.files.mount}
            </Button>
            <input
              type="search"
              class="files-filter"
              aria-label={t.files.filterByName}
              placeholder={t.files.filterByName}
              value={view.filter}
              onInput={(event: Event) => updateView({ filter: typed(event) })}
              onKeyDown={(event: KeyboardEvent) => {
                if (event.key !== "ArrowDown") return;
                event.preventDefault();
                document.querySelector<HTMLElement>(".files-rows")?.focus();
              }}
            />
            <Button
              icon="search"
              title={t.files.searchBucket}
              pressed={view.everywhere}
              onClick={() => updateView({ everywhere: !view.everywhere })}
            >
              {t.files.searchBucket}
            </Button>
            <IconButton
              icon={layout === "grid" ? "logs" : "grid"}
              label={layout === "grid" ? t.files.asList : t.files.asGrid}
              onClick={() => onLayout(layout === "grid" ? "list" : "grid")}
            />
          </div>
        )}
      </div>
      {hovering !== undefined && (
        // Of the folder itself, whose list is marked by it, or of one in it, whose row is.
        <p class={files !== undefined && hovering === "" ? "files-drop whole" : "files-drop"} role="status">
          {files === undefined
            ? t.files.noDrop
            : t.files.dropInto(visibleText(nameOf(hovering) || nameOf(view.path) || name))}
        </p>
      )}
      {bucketToMount() === name && <MountDialog bucket={name} onClose={closeMount} />}
      {open !== undefined && files !== undefined && (
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
  readonly onChoose: (dropped: DropContents) => Promise<void>;
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
        aria-hidden="true"
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
