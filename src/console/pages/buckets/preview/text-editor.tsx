import { useRef, useState } from "preact/hooks";
import { type BucketFiles, FileError } from "../../../../client/index.ts";
import { Editor } from "../../../editor/editor.tsx";
import { Button } from "../../../ui/button.tsx";
import { showError, showToast } from "../../../ui/toasts.tsx";
import { type Draft, draftOf, dropDraft, keepDraft } from "./drafts.ts";
import { encodeText, type TextFile } from "./text-file.ts";

export interface TextEditorProps {
  readonly bucket: string;
  readonly files: BucketFiles;
  readonly path: string;
  readonly language: string;
  readonly file: TextFile;
  readonly etag: string | undefined;
  readonly onSaved: () => void;
  /** The text of the server in place of this one. */
  readonly onReload: () => void;
}

/** Saves on the condition that nobody else changed the file meanwhile. */
export function TextEditor({
  bucket,
  files,
  path,
  language,
  file,
  etag,
  onSaved,
  onReload,
}: TextEditorProps) {
  const [draft] = useState(() => draftOf(bucket, path));
  const [text, setText] = useState(draft?.text ?? file.text);
  const [saved, setSaved] = useState(file.text);
  const [conflict, setConflict] = useState(false);
  /** What the server holds, as far as is known here. */
  const held = useRef<Draft>({ text: file.text, etag: draft?.etag ?? etag });
  const turn = useRef<Promise<unknown>>(Promise.resolve());
  const dismissSaved = useRef(() => {});
  const dirty = text !== saved;

  const change = (next: string) => {
    setText(next);
    if (next === held.current.text) dropDraft(bucket, path);
    else keepDraft(bucket, path, { text: next, etag: held.current.etag });
  };
  const put = async (overwrite: boolean) => {
    const sent = draftOf(bucket, path)?.text ?? held.current.text;
    // The last save is not what the next message is about.
    dismissSaved.current();
    const condition = overwrite ? {} : { ifMatch: held.current.etag };
    try {
      const { etag } = await files.upload(path, encodeText(sent, file), condition);
      held.current = { text: sent, etag };
      setSaved(sent);
    } catch (error) {
      if (!(error instanceof FileError) || error.status !== 412) throw error;
      setConflict(true);
      return;
    }
    setConflict(false);
    // What was typed meanwhile is not saved yet.
    const left = draftOf(bucket, path);
    if (left !== undefined && left.text !== sent)
      keepDraft(bucket, path, { ...held.current, text: left.text });
    else dropDraft(bucket, path);
    dismissSaved.current = showToast("Saved.", "done");
    onSaved();
  };
  /** One after the other: a second one at the same time would take the first for somebody else's change. */
  const save = (overwrite: boolean) => {
    const own = turn.current.then(() => put(overwrite));
    // Who asked for this one hears of its failure; the next one is another try.
    turn.current = own.catch(() => {});
    return own;
  };
  const reload = () => {
    dropDraft(bucket, path);
    onReload();
  };

  return (
    <>
      {file.mixed && (
        <p class="notice">
          The lines of this file end in different ways. Saving it ends them all in the same one.
        </p>
      )}
      {conflict && (
        <div class="problem" role="alert">
          <p>
            Somebody else changed or removed this file while you edited it. Nothing was saved. Load their text
            and lose yours, or overwrite theirs with yours.
          </p>
          <Button onClick={reload}>Load theirs</Button>
          <Button kind="danger" onClick={() => save(true)}>
            Overwrite
          </Button>
        </div>
      )}
      {draft !== undefined && !conflict && dirty && (
        <p class="notice">You have unsaved changes from before.</p>
      )}
      <div class="files-editor">
        <Editor
          label={`Content of ${path}`}
          value={text}
          language={language}
          initialFocus
          onChange={change}
          onSave={() => void save(false).catch(showError)}
        />
      </div>
      <footer>
        <span class="muted" aria-live="polite">
          {dirty ? "Not saved" : ""}
        </span>
        <Button disabled={!dirty} onClick={reload}>
          Discard changes
        </Button>
        <Button kind="primary" disabled={!dirty} onClick={() => save(false)}>
          Save
        </Button>
      </footer>
    </>
  );
}
