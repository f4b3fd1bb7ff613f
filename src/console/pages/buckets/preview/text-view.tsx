import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useRef, useState } from "preact/hooks";
import { type BucketFiles, FileError } from "../../../../client/index.ts";
import { importCode } from "../../../connection.ts";
import { Editor } from "../../../editor/editor.tsx";
import { bytes } from "../../../format.ts";
import { sessionState } from "../../../session/session-state.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { Skeleton } from "../../../ui/page.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { showError, showToast } from "../../../ui/toasts.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { decodeText, type Encoding, encodeText, type TextFile } from "./model.ts";

/** Larger texts make the editor slow, and the server refuses larger RPC results. */
const maxTextBytes = 1024 * 1024;

interface TextViewProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  /** Size in bytes when the view was opened. */
  readonly size: number;
  readonly as: "text" | "markdown" | "table";
  readonly language: string;
  /** Called when the file differs from its entry in the list. */
  readonly onChanged: () => void;
}

/** Text file, or the beginning of a large one, with an "Edit" button if the token may change it. */
export function TextView({ openBucket, path, size, as, language, onChanged }: TextViewProps) {
  const { access, name } = openBucket;
  const isPart = size > maxTextBytes;
  const { value, error, loading, reload } = useLoad(
    async (signal) => {
      const { blob, etag } = await (isPart
        ? access.readStart(path, maxTextBytes, signal)
        : access.read(path, signal));
      return { file: decodeText(new Uint8Array(await blob.arrayBuffer()), { isPart }), etag };
    },
    [path],
  );
  const [editing, setEditing] = useState(() => draftOf(name, path) !== undefined);
  const [round, setRound] = useState(0);
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (value === undefined) return <Skeleton rows={6} />;
  const { file, etag } = value;
  if (file === undefined) return <p>{t.files.noPreview}</p>;
  const mayEdit = access.files !== undefined && !isPart && file.encoding === "utf-8";
  if (!editing || !mayEdit || access.files === undefined)
    return (
      <>
        {isPart && <p class="notice">{t.files.firstPart(bytes(maxTextBytes))}</p>}
        {file.encoding !== "utf-8" && <p class="notice">{t.files.shownAs(encodingNames[file.encoding])}</p>}
        <ReadOnly path={path} file={file} as={as} language={language} />
        {mayEdit && (
          <footer>
            <Button icon="edit" onClick={() => setEditing(true)}>
              {t.files.edit}
            </Button>
          </footer>
        )}
      </>
    );
  // After a reload a new editor shows the server's text.
  if (loading) return <Skeleton rows={6} />;
  return (
    <TextEditor
      key={round}
      bucket={name}
      files={access.files}
      path={path}
      language={language}
      file={file}
      etag={etag}
      onSaved={onChanged}
      onReload={() => {
        setRound(round + 1);
        reload();
        // The dialog shows the size and date from the list.
        onChanged();
      }}
    />
  );
}

const encodingNames: Readonly<Record<Encoding, string>> = {
  "utf-8": "UTF-8",
  "utf-16le": "UTF-16",
  "utf-16be": "UTF-16",
  "windows-1252": "Latin-1",
};

interface ReadOnlyProps {
  readonly path: string;
  readonly file: TextFile;
  readonly as: TextViewProps["as"];
  readonly language: string;
}

function ReadOnly({ path, file, as, language }: ReadOnlyProps) {
  const [view, setView] = useState<"rendered" | "source">("rendered");
  const source = (
    <div class="files-editor">
      <Editor
        label={t.files.contentOf(path)}
        value={file.text}
        revision={file.text}
        language={language}
        readOnly
      />
    </div>
  );
  if (as === "text") return source;
  const tabs = [
    { name: "rendered", title: t.files.rendered },
    { name: "source", title: t.files.source },
  ] as const;
  return (
    <Tabs label={t.files.views} tabs={tabs} chosen={view} onChoose={setView}>
      {view === "source" ? source : <RenderedView text={file.text} path={path} as={as} />}
    </Tabs>
  );
}

type View = ComponentType<{ readonly text: string; readonly path: string }>;

/** Views that are fetched when the first of their files is opened. */
const views: Readonly<Record<"markdown" | "table", () => Promise<{ readonly default: View }>>> = {
  markdown: () => import("./markdown-view.tsx"),
  table: () => import("./csv-view.tsx"),
};

interface RenderedProps {
  readonly text: string;
  readonly path: string;
  readonly as: "markdown" | "table";
}

function RenderedView({ text, path, as }: RenderedProps) {
  const { value, error, reload } = useLoad(() => importCode(views[as]), [as]);
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (value === undefined) return <Skeleton rows={6} />;
  const { default: View } = value;
  return <View text={text} path={path} />;
}

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
function TextEditor({ bucket, files, path, language, file, etag, onSaved, onReload }: TextEditorProps) {
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

interface Draft {
  readonly text: string;
  /** ETag of the edited version of the file. */
  readonly etag: string | undefined;
}

/** Unsaved texts by file. They outlive the page, so that going back in the history does not lose them. */
const drafts = sessionState(
  () => ({
    byFile: new Map<string, Draft>(),
    /** Keys of the drafts. The signal changes only when a draft is added or removed, not with every key press. */
    unsaved: signal<ReadonlySet<string>>(new Set()),
  }),
  { unsaved: ({ byFile }) => (byFile.size > 0 ? t.files.draftsUnsaved : undefined) },
);

/** Whether a file has a draft. Components that call it re-render when this changes. */
export function isUnsaved(bucket: string, path: string): boolean {
  return drafts.current()?.unsaved.value.has(`${bucket}/${path}`) ?? false;
}

export function draftOf(bucket: string, path: string): Draft | undefined {
  return drafts.current()?.byFile.get(`${bucket}/${path}`);
}

/** Keeps a draft until it is dropped or the session ends. */
function keepDraft(bucket: string, path: string, draft: Draft): void {
  const { byFile, unsaved } = drafts.current() ?? {};
  const key = `${bucket}/${path}`;
  byFile?.set(key, draft);
  if (unsaved?.peek().has(key) === false) unsaved.value = new Set(byFile?.keys());
}

export function dropDraft(bucket: string, path: string): void {
  const { byFile, unsaved } = drafts.current() ?? {};
  if (unsaved !== undefined && byFile?.delete(`${bucket}/${path}`)) unsaved.value = new Set(byFile.keys());
}
