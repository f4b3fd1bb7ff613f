import { useState } from "preact/hooks";
import { Editor } from "../../../editor/editor.tsx";
import { Button } from "../../../ui/button.tsx";
import { useLoad } from "../../../ui/load.ts";
import { Problem } from "../../../ui/problem.tsx";
import type { Opened } from "../opened.ts";
import { draftOf } from "./drafts.ts";
import { TextEditor } from "./text-editor.tsx";
import { decodeText } from "./text-file.ts";

export interface TextViewProps {
  readonly opened: Opened;
  readonly path: string;
  readonly language: string;
  /** The file in the bucket is no longer the one that was listed. */
  readonly onChanged: () => void;
}

/** A text to be read, and to be edited where the token may change files. */
export function TextView({ opened, path, language, onChanged }: TextViewProps) {
  const { door, name } = opened;
  const { value, error, loading, reload } = useLoad(
    async (signal) => {
      const { blob, etag } = await door.read(path, signal);
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
      <p>This is no text in UTF-8, so it is neither shown nor edited here. Download it to look inside.</p>
    );
  if (!editing || door.files === undefined)
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
        {door.files !== undefined && (
          <footer>
            <Button icon="edit" onClick={() => setEditing(true)}>
              Edit
            </Button>
          </footer>
        )}
      </>
    );
  // A reload shows the text of the server, and so a new editor.
  if (loading) return <p class="loading">Loading…</p>;
  return (
    <TextEditor
      key={round}
      bucket={name}
      files={door.files}
      path={path}
      language={language}
      file={file}
      etag={etag}
      onSaved={onChanged}
      onReload={() => {
        setRound(round + 1);
        reload();
        // The size and the date above are those of the listing.
        onChanged();
      }}
    />
  );
}
