import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { EditorProps, Mark } from "./editor.tsx";
import { languageOf } from "./languages.ts";
import { colours, theme } from "./theme.ts";

/**
 * CodeMirror, inside a shadow root: there it brings its styles as constructed sheets, which the page's policy allows, and not as
 * `<style>` elements, which it does not.
 */
export class CodeEditor {
  readonly #view: EditorView;
  readonly #language = new Compartment();
  #wanted = 0;

  constructor(
    place: HTMLElement,
    private readonly props: () => EditorProps,
  ) {
    const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
    const { value, readOnly = false, label } = props();
    this.#view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(),
          highlightSpecialChars(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false }),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxHighlighting(colours),
          theme,
          EditorState.readOnly.of(readOnly),
          // A text that cannot be changed can still be reached, selected and scrolled by keyboard.
          EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true" }),
          EditorView.lineWrapping,
          this.#language.of([]),
          this.#keys(),
          EditorView.updateListener.of(({ docChanged }) => {
            if (docChanged) this.props().onChange?.(this.text);
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** Leaves the cursor alone where the text is what it is already. */
  setText(text: string): void {
    if (text !== this.text)
      this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  setMarks(marks: readonly Mark[]): void {
    const found = marks.map((mark) => this.#toDiagnostic(mark));
    this.#view.dispatch(setDiagnostics(this.#view.state, found));
  }

  async setLanguage(props: EditorProps): Promise<void> {
    this.#wanted += 1;
    const wanted = this.#wanted;
    const support = await languageOf(props);
    if (wanted === this.#wanted) this.#view.dispatch({ effects: this.#language.reconfigure(support) });
  }

  close(): void {
    this.#wanted += 1;
    this.#view.destroy();
  }

  #toDiagnostic({ line, column, message }: Mark): Diagnostic {
    const { doc } = this.#view.state;
    const row = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const from = Math.min(row.from + Math.max(column - 1, 0), row.to);
    return { from, to: Math.max(row.to, from), severity: "error", message };
  }

  #keys() {
    const run = () => {
      const { onRun } = this.props();
      const { from, to } = this.#view.state.selection.main;
      onRun?.(this.text, this.#view.state.sliceDoc(from, to));
      return onRun !== undefined;
    };
    const save = () => {
      const { onSave } = this.props();
      onSave?.();
      return onSave !== undefined;
    };
    return keymap.of([
      { key: "Mod-Enter", run },
      { key: "Mod-s", run: save },
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
      // Tab indents; Escape and then Tab leaves the editor, as CodeMirror does for keyboard users.
      indentWithTab,
    ]);
  }
}
