import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { FileName } from "../../ui/file-name.tsx";
import { FieldError, Form, Submit, TextField } from "../../ui/form.tsx";
import { Icon } from "../../ui/icons.tsx";
import { VirtualRows } from "../../ui/list.tsx";
import { explain, Problem } from "../../ui/problem.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import type { OpenBucket } from "./bucket-access.ts";
import { entryForKey, sorted } from "./files/model.ts";
import { join, nameOf, nameProblem, parentOf, sameName, splitPath } from "./path.ts";

const rowHeight = 36;

interface PathPickerProps {
  readonly openBucket: OpenBucket;
  /** The open folder, which is the chosen one. */
  readonly path: string;
  readonly onPath: (path: string) => void;
  /** Whether it can make folders; not within a form, because it would have one of its own. */
  readonly makesFolders?: boolean;
  /** Name of the chosen file of the folder. */
  readonly file?: string | undefined;
  /** Called with the name of a file that is chosen; without it only folders are shown. */
  readonly onFile?: (name: string) => void;
}

/** Shows the folders in a folder, opens them and makes new ones, or chooses a file. */
export function PathPicker({ openBucket, path, onPath, makesFolders, file, onFile }: PathPickerProps) {
  const { name: bucket, access } = openBucket;
  const box = useRef<HTMLElement>(null);
  const id = useId();
  const [isNaming, setNaming] = useState(false);
  // Entries with the folder that they are in: while another one is loaded, the previous ones stay.
  const { value, error, reload } = useLoad(
    async (signal) => ({
      path,
      entries: sorted(await access.list(path, signal), { sort: "name", down: false }),
    }),
    [access, path],
  );
  const shown = (value?.entries ?? []).filter(({ folder }) => folder || onFile !== undefined);
  const [active, setActive] = useState(0);
  const cameFrom = useRef("");
  // Before the next paint: later it would undo a key that was pressed since.
  useLayoutEffect(() => {
    // After a step up the cursor is on the folder that was left.
    setActive(
      Math.max(
        shown.findIndex(({ name }) => name === cameFrom.current),
        0,
      ),
    );
    cameFrom.current = "";
  }, [value]);
  useEffect(() => scrollToRow(box.current, active), [active]);
  const open = (at: number) => {
    const entry = shown[at];
    if (entry === undefined || value === undefined) return;
    if (entry.folder) onPath(join(value.path, entry.name));
    else {
      setActive(at);
      onFile?.(entry.name);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    const next = entryForKey(key, active, { count: shown.length, page: 5 });
    if (next !== undefined) setActive(next);
    else if (key === "Enter" || (key === "ArrowRight" && shown[active]?.folder)) open(active);
    else if ((key === "Backspace" || key === "ArrowLeft") && path !== "") {
      cameFrom.current = nameOf(path);
      onPath(parentOf(path));
    } else return;
    event.preventDefault();
  };
  return (
    <>
      <Destination bucket={bucket} path={path} onPath={onPath} />
      <div class="picker">
        <VirtualRows
          label={(onFile === undefined ? t.files.foldersIn : t.files.filesIn)(
            visibleText(join(bucket, path)),
          )}
          class="picker-rows"
          role="presentation"
          scroller={box}
          count={shown.length}
          rowHeight={rowHeight}
          box={{
            role: "listbox",
            "data-initial-focus": true,
            ...(shown.length === 0 ? {} : { "aria-activedescendant": `${id}-${active}` }),
            onKeyDown,
          }}
          row={(at) => {
            const { name = "", folder = false } = shown[at] ?? {};
            const isFile = name === file && !folder;
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keyboard.
              // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus.
              <div
                key={name}
                id={`${id}-${at}`}
                role="option"
                aria-selected={at === active}
                class={isFile ? "picker-row chosen" : "picker-row"}
                onClick={() => open(at)}
              >
                <Icon name={folder ? "folder" : "file"} />
                <FileName name={name} />
                {folder && <Icon name="next" />}
                {isFile && <Icon name="check" />}
              </div>
            );
          }}
        />
        {value !== undefined && shown.length === 0 && (
          <p class="muted">{onFile === undefined ? t.files.noFolders : t.files.empty}</p>
        )}
        {error !== undefined && <Problem error={error} retry={reload} />}
      </div>
      {makesFolders !== true ? null : isNaming ? (
        <NewFolderForm
          openBucket={openBucket}
          path={path}
          taken={(value?.entries ?? []).map(({ name }) => name)}
          onClose={(made) => {
            setNaming(false);
            box.current?.focus();
            if (made !== undefined) onPath(made);
          }}
        />
      ) : (
        <div>
          <Button icon="newFolder" onClick={() => setNaming(true)}>
            {t.files.newFolder}
          </Button>
        </div>
      )}
    </>
  );
}

function scrollToRow(list: HTMLElement | null, row: number): void {
  if (list === null) return;
  const top = row * rowHeight;
  list.scrollTop = Math.max(Math.min(list.scrollTop, top), top + rowHeight - list.clientHeight);
}

interface DestinationProps {
  readonly bucket: string;
  readonly path: string;
  readonly onPath: (path: string) => void;
}

/** Whole path of the open folder. Each part opens the folder that it names. */
function Destination({ bucket, path, onPath }: DestinationProps) {
  const names = splitPath(path);
  return (
    <nav aria-label={t.files.destination} class="picker-path">
      {[bucket, ...names].map((name, at) => (
        <span key={join(...names.slice(0, at))}>
          {at > 0 && (
            <span aria-hidden="true" class="muted">
              /
            </span>
          )}
          <button
            type="button"
            class="button quiet"
            aria-current={at === names.length ? "location" : undefined}
            onClick={() => onPath(join(...names.slice(0, at)))}
          >
            <FileName name={name} />
          </button>
        </span>
      ))}
    </nav>
  );
}

interface NewFolderFormProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  readonly taken: readonly string[];
  /** Called with the path of the new folder, or without one. */
  readonly onClose: (made?: string) => void;
}

function NewFolderForm({ openBucket, path, taken, onClose }: NewFolderFormProps) {
  const [name, setName] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const create = async () => {
    const there = taken.some((other) => sameName(other, name));
    const fault = nameProblem(name) ?? (there ? t.files.taken(visibleText(name)) : undefined);
    if (fault !== undefined) throw new FieldError("name", fault);
    try {
      await openBucket.access.files?.makeFolder(join(path, name), { parents: false });
    } catch (error) {
      throw new FieldError("name", explain(error));
    }
    onClose(join(path, name));
  };
  return (
    <Form class="picker-new" onSubmit={create} onEscape={() => onClose()}>
      <TextField
        label={t.files.newFolderName}
        field="name"
        inputRef={input}
        value={name}
        onChange={setName}
      />
      <Submit kind="plain">{t.frame.create}</Submit>
    </Form>
  );
}
