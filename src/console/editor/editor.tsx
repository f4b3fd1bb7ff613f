import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { importCode } from "../connection.ts";
import { Problem } from "../ui/problem.tsx";
import type { CodeEditor } from "./code-editor.ts";
import type { EditorProps } from "./props.ts";

/** A text editor with colours. Its code is fetched when the first one is shown. */
export function Editor(props: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<CodeEditor>();
  const [failure, setFailure] = useState<unknown>();
  const revision = useRef(props.revision);
  useLayoutEffect(() => {
    let gone = false;
    let made: CodeEditor | undefined;
    importCode(() => import("./code-editor.ts")).then(
      ({ CodeEditor }) => {
        if (gone || place.current === null) return;
        made = new CodeEditor(place.current, () => latest.current);
        revision.current = latest.current.revision;
        if (latest.current.handle !== undefined) latest.current.handle.current = made;
        if (latest.current.initialFocus) made.focus();
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
  useLayoutEffect(() => {
    if (editor === undefined || revision.current === props.revision) return;
    revision.current = props.revision;
    editor.setText(props.value);
  }, [editor, props.revision]);
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
