import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { importCode } from "../connection.ts";
import { language, loadTexts, t } from "../text/text.ts";
import { Problem } from "../ui/problem.tsx";
import type { CodeEditor } from "./code-editor.ts";
import type { EditorProps } from "./props.ts";

/** Text editor with syntax highlighting. CodeMirror is fetched when the first one is shown. */
export function Editor(props: EditorProps) {
  const container = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<CodeEditor>();
  const [failure, setFailure] = useState<unknown>();
  const revision = useRef(props.revision);
  useLayoutEffect(() => {
    let unmounted = false;
    let created: CodeEditor | undefined;
    importCode(() => Promise.all([import("./code-editor.ts"), loadTexts("editor")])).then(
      ([{ CodeEditor }]) => {
        if (unmounted || container.current === null) return;
        created = new CodeEditor(container.current, () => latest.current);
        revision.current = latest.current.revision;
        if (latest.current.handle !== undefined) latest.current.handle.current = created;
        if (latest.current.initialFocus) created.focus();
        setEditor(created);
      },
      (error) => setFailure(error),
    );
    return () => {
      unmounted = true;
      created?.close();
      if (latest.current.handle !== undefined) latest.current.handle.current = null;
    };
  }, []);
  useLayoutEffect(() => {
    if (editor === undefined || revision.current === props.revision) return;
    revision.current = props.revision;
    editor.setText(props.value);
  }, [editor, props.revision]);
  const spoken = language();
  useLayoutEffect(() => editor?.setPhrases(), [editor, spoken, props.label]);
  useLayoutEffect(() => editor?.setMarks(props.marks ?? []), [editor, props.marks]);
  // Before the next paint, so that a password is never seen.
  useLayoutEffect(() => editor?.setSecrets(props.secrets), [editor, props.secrets]);
  useEffect(() => {
    editor?.setLanguage(props).catch(setFailure);
  }, [editor, props.language, props.dialect, props.schema]);
  if (failure !== undefined) return <Problem error={new Error(t.frame.editorMissing(String(failure)))} />;
  return (
    <div class="editor">
      {editor === undefined && <p class="loading">{t.frame.editorLoading}</p>}
      <div ref={container} class="editor-container" />
    </div>
  );
}
