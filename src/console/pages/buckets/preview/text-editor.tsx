import { useRef, useState } from "preact/hooks";
import { type BucketFiles, FileError } from "../../../../client/index.ts";
import { Editor } from "../../../editor/editor.tsx";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { showError, showToast } from "../../../ui/toasts.tsx";
import { type Draft, draftOf, dropDraft, keepDraft } from "./drafts.ts";
import { encodeText, type TextFile } from "./file-content.ts";

interface TextEditorProps {
  readonly bucket: string;
  readonly files: BucketFiles;
  readonly path: string;
  readonly language: string;
  readonly file: TextFile;
  readonly etag: string | undefined;
  readonly onSaved: () => void;
  /** Called to load the server's text instead. */
  readonly onReload: () => void;
}

interface SaveOptions {
  /** True replaces the server's file even if somebody else changed it. */
  readonly overwrite: boolean;
}

/** Editor of a text file. It saves only if nobody else changed the file meanwhile. */
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
  /** Last known version on the server. */
  const stored = useRef<Draft>({ text: file.text, etag: draft?.etag ?? etag });
  const lastSave = useRef<Promise<unknown>>(Promise.resolve());
  const dismissSaved = useRef(() => {});
  const dirty = text !== saved;

  const change = (next: string) => {
    setText(next);
    if (next === stored.current.text) dropDraft(bucket, path);
    else keepDraft(bucket, path, { text: next, etag: stored.current.etag });
  };
  const put = async ({ overwrite }: SaveOptions) => {
    const sent = draftOf(bucket, path)?.text ?? stored.current.text;
    // Remove the toast of the previous save.
    dismissSaved.current();
    const condition = overwrite ? {} : { ifMatch: stored.current.etag };
    try {
      const { etag } = await files.upload(path, encodeText(sent, file), condition);
      stored.current = { text: sent, etag };
      setSaved(sent);
    } catch (error) {
      if (!(error instanceof FileError) || error.status !== 412) throw error;
      setConflict(true);
      return;
    }
    setConflict(false);
    // Keep what was typed while the upload was running.
    const left = draftOf(bucket, path);
    if (left !== undefined && left.text !== sent)
      keepDraft(bucket, path, { ...stored.current, text: left.text });
    else dropDraft(bucket, path);
    dismissSaved.current = showToast(t.frame.savedNotice, "done");
    onSaved();
  };
  /** Saves one after the other: a parallel save would see the first one as somebody else's change. */
  const save = (options: SaveOptions = { overwrite: false }) => {
    const thisSave = lastSave.current.then(() => put(options));
    // The caller gets this error; the next save must not fail because of it.
    lastSave.current = thisSave.catch(() => {});
    return thisSave;
  };
  const reload = () => {
    dropDraft(bucket, path);
    onReload();
  };

  return (
    <>
      {file.mixed && <p class="notice">{t.files.mixedLineEnds}</p>}
      {conflict && (
        <div class="problem" role="alert">
          <p>{t.files.conflict}</p>
          <Button onClick={reload}>{t.files.loadTheirs}</Button>
          <Button kind="danger" onClick={() => save({ overwrite: true })}>
            {t.files.overwrite}
          </Button>
        </div>
      )}
      {draft !== undefined && !conflict && dirty && <p class="notice">{t.files.draftBefore}</p>}
      <div class="files-editor">
        <Editor
          label={t.files.contentOf(path)}
          value={text}
          language={language}
          initialFocus
          onChange={change}
          onSave={() => void save().catch(showError)}
        />
      </div>
      <footer>
        <span class="muted" aria-live="polite">
          {dirty ? t.files.notSaved : ""}
        </span>
        <Button disabled={!dirty} onClick={reload}>
          {t.files.discardChanges}
        </Button>
        <Button kind="primary" disabled={!dirty} onClick={() => save()}>
          {t.frame.save}
        </Button>
      </footer>
    </>
  );
}
