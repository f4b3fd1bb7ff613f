import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { importCode } from "../../../connection.ts";
import { Editor } from "../../../editor/editor.tsx";
import { bytes } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/call.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Skeleton } from "../../../ui/skeleton.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { draftOf } from "./drafts.ts";
import { decodeText, type Encoding, type TextFile } from "./file-content.ts";
import { TextEditor } from "./text-editor.tsx";

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
