import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../ui/problem.tsx";
import type { CodeEditor } from "./code-editor.ts";

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A place in the text where something is wrong. */
export interface Mark extends Place {
  readonly message: string;
}

/** What a page can do with its editor beside giving it a text. */
export interface EditorHandle {
  /** What is selected, and where that begins; without a selection an empty text at the cursor. */
  readonly selected: Place & { readonly text: string };
  /** Puts a text at the cursor, in place of what is selected, and the cursor behind it. */
  insert(text: string): void;
  goTo(place: Place): void;
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
  /** What it finds is shown as dots; must have the flag `g`. */
  readonly secrets?: RegExp | undefined;
  /** Filled once the editor is there. */
  readonly handle?: { current: EditorHandle | null };
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
        if (latest.current.handle !== undefined) latest.current.handle.current = made;
        setEditor(made);
      },
      (error) => setFailure(error),
    );
    return () => {
      gone = true;
      made?.close();
      if (latest.current.handle !== undefined) latest.current.handle.current = null;
    };
  }, []);
  // At once, or what was typed meanwhile would be taken back.
  useLayoutEffect(() => editor?.setText(props.value), [editor, props.value]);
  useEffect(() => editor?.setMarks(props.marks ?? []), [editor, props.marks]);
  useEffect(() => editor?.setSecrets(props.secrets), [editor, props.secrets]);
  useEffect(() => {
    editor?.setLanguage(props).catch(setFailure);
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
