import { useState } from "preact/hooks";
import { type BucketFiles, FileError } from "../../../../client/index.ts";
import { Editor } from "../../../editor/editor.tsx";
import { Button } from "../../../ui/button.tsx";
import { tell, toast } from "../../../ui/toasts.tsx";
import { draftOf, dropDraft, keepDraft } from "./drafts.ts";
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
  const [saved, setSaved] = useState({ text: file.text, etag: draft?.etag ?? etag });
  const [conflict, setConflict] = useState(false);
  const dirty = text !== saved.text;

  const change = (next: string) => {
    setText(next);
    if (next === saved.text) dropDraft(bucket, path);
    else keepDraft(bucket, path, { text: next, etag: saved.etag });
  };
  const save = async (overwrite: boolean) => {
    const condition = overwrite || saved.etag === undefined ? {} : { ifMatch: saved.etag };
    try {
      const { etag } = await files.upload(path, encodeText(text, file), condition);
      setSaved({ text, etag });
    } catch (error) {
      if (!(error instanceof FileError) || error.status !== 412) throw error;
      setConflict(true);
      return;
    }
    setConflict(false);
    dropDraft(bucket, path);
    toast("Saved.");
    onSaved();
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
        <p class="notice">These changes are from before and not saved yet.</p>
      )}
      <div class="files-editor">
        <Editor
          label={`Content of ${path}`}
          value={text}
          language={language}
          onChange={change}
          onSave={() => void save(false).catch(tell)}
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
