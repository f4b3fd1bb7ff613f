import { useState } from "preact/hooks";
import { Editor } from "../../../editor/editor.tsx";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/load.ts";
import { Problem } from "../../../ui/problem.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { draftOf } from "./drafts.ts";
import { decodeText } from "./file-content.ts";
import { TextEditor } from "./text-editor.tsx";

export interface TextViewProps {
  readonly openBucket: OpenBucket;
  readonly path: string;
  readonly language: string;
  /** Called when the file differs from its entry in the list. */
  readonly onChanged: () => void;
}

/** Text file, with an "Edit" button if the token may change files. */
export function TextView({ openBucket, path, language, onChanged }: TextViewProps) {
  const { access, name } = openBucket;
  const { value, error, loading, reload } = useLoad(
    async (signal) => {
      const { blob, etag } = await access.read(path, signal);
      return { file: decodeText(new Uint8Array(await blob.arrayBuffer())), etag };
    },
    [path],
  );
  const [editing, setEditing] = useState(() => draftOf(name, path) !== undefined);
  const [round, setRound] = useState(0);
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  if (value === undefined) return <p class="loading">Loading…</p>;
  const { file, etag } = value;
  if (file === undefined)
    return (
      <p>This file is not UTF-8 text, so it cannot be shown or edited here. Download it to look inside.</p>
    );
  if (!editing || access.files === undefined)
    return (
      <>
        <div class="files-editor">
          <Editor
            label={`Content of ${path}`}
            value={file.text}
            revision={file.text}
            language={language}
            readOnly
          />
        </div>
        {access.files !== undefined && (
          <footer>
            <Button icon="edit" onClick={() => setEditing(true)}>
              Edit
            </Button>
          </footer>
        )}
      </>
    );
  // After a reload a new editor shows the server's text.
  if (loading) return <p class="loading">Loading…</p>;
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
