import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../ui/problem.tsx";
import type { CodeEditor } from "./code-editor.ts";

/** A place in the text where something is wrong; both count from 1. */
export interface Mark {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Tables with their columns, for completion. */
export type SqlSchema = Readonly<Record<string, readonly string[]>>;

export interface EditorProps {
  /** What it is, for screen readers. */
  readonly label: string;
  readonly value: string;
  readonly onChange?: (text: string) => void;
  /** A language by name (`sql`, `toml`, `json`, …; see languages.ts); unknown ones are plain text. */
  readonly language?: string;
  readonly dialect?: "sqlite" | "postgres";
  readonly schema?: SqlSchema;
  readonly marks?: readonly Mark[];
  /** Ctrl+Enter, or Cmd+Enter, with the selected text if there is one. */
  readonly onRun?: (text: string, selected: string) => void;
  /** Ctrl+S, or Cmd+S. */
  readonly onSave?: () => void;
  readonly readOnly?: boolean;
}

/** A text editor with colours. Its code is fetched when the first one is shown. */
export function Editor(props: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<CodeEditor>();
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    let gone = false;
    let made: CodeEditor | undefined;
    import("./code-editor.ts").then(
      ({ CodeEditor }) => {
        if (gone || place.current === null) return;
        made = new CodeEditor(place.current, () => latest.current);
        setEditor(made);
      },
      (error) => setFailure(error),
    );
    return () => {
      gone = true;
      made?.close();
    };
  }, []);
  useEffect(() => editor?.setText(props.value), [editor, props.value]);
  useEffect(() => editor?.setMarks(props.marks ?? []), [editor, props.marks]);
  useEffect(() => {
    editor?.setLanguage(props);
  }, [editor, props.language, props.dialect, props.schema]);
  if (failure !== undefined)
    return <Problem error={new Error(`the editor cannot be loaded; reload the page (${String(failure)})`)} />;
  return (
    <div class="editor">
      {editor === undefined && <p class="loading">Loading the editor…</p>}
      <div ref={place} class="editor-place" />
    </div>
  );
}
