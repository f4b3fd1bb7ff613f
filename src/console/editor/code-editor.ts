import { autocompletion, closeBrackets, closeCompletion } from "@codemirror/autocomplete";
import { history } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches } from "@codemirror/search";
import { Compartment, EditorSelection, EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { keys } from "./keys.ts";
import { languageOf } from "./languages.ts";
import type { EditorHandle, EditorProps, Mark, Place } from "./props.ts";
import { dotted } from "./secrets.ts";
import { colours, theme } from "./theme.ts";
import { typingOver } from "./typing-over.ts";

/**
 * CodeMirror, inside a shadow root: there it brings its styles as constructed sheets, which the page's policy allows, and not as
 * `<style>` elements, which it does not.
 */
export class CodeEditor implements EditorHandle {
  readonly #view: EditorView;
  readonly #language = new Compartment();
  readonly #secrets = new Compartment();
  #wanted = 0;

  constructor(
    place: HTMLElement,
    private readonly props: () => EditorProps,
  ) {
    const root = place.shadowRoot ?? place.attachShadow({ mode: "open", delegatesFocus: true });
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
          typingOver,
          autocompletion({ icons: false }),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxHighlighting(colours),
          theme,
          EditorState.readOnly.of(readOnly),
          // A text that cannot be changed can still be reached, selected and scrolled by keyboard.
          EditorView.contentAttributes.of({
            "aria-label": label,
            "aria-multiline": "true",
            "aria-description": "Escape, then Tab, leaves the editor",
          }),
          EditorView.lineWrapping,
          this.#language.of([]),
          this.#secrets.of([]),
          keymap.of([
            { key: "Mod-Enter", run: () => this.#run() },
            { key: "Mod-s", run: () => this.#save() },
            ...keys,
          ]),
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

  focus(): void {
    this.#view.focus();
  }

  /** Leaves the cursor alone where the text is what it is already. */
  setText(text: string): void {
    if (text !== this.text)
      this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  get selected(): Place & { readonly text: string } {
    const { doc, selection } = this.#view.state;
    const { from, to } = selection.main;
    const { number, from: start } = doc.lineAt(from);
    return { text: doc.sliceString(from, to), line: number, column: from - start + 1 };
  }

  insert(text: string): void {
    this.#view.dispatch(this.#view.state.replaceSelection(text), { scrollIntoView: true });
    this.#view.focus();
  }

  goTo(place: Place): void {
    const at = EditorSelection.cursor(this.#offset(place));
    this.#view.dispatch({ selection: at, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    this.#view.focus();
  }

  setSecrets(secrets: RegExp | undefined): void {
    const effects = this.#secrets.reconfigure(secrets === undefined ? [] : dotted(secrets));
    this.#view.dispatch({ effects });
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

  #toDiagnostic(mark: Mark): Diagnostic {
    const at = this.#offset(mark);
    const row = this.#view.state.doc.lineAt(at);
    // At the end of a line there is nothing to underline but what stands before.
    const from = at < row.to ? at : row.from + Math.max(row.text.search(/\S/), 0);
    return { from, to: row.to, severity: mark.severity ?? "error", message: mark.message };
  }

  /** The nearest place that the text has. */
  #offset({ line, column }: Place): number {
    const { doc } = this.#view.state;
    const row = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return Math.min(row.from + Math.max(column - 1, 0), row.to);
  }

  #run(): boolean {
    const { onRun } = this.props();
    closeCompletion(this.#view);
    onRun?.(this.text, this.selected.text);
    return onRun !== undefined;
  }

  #save(): boolean {
    const { onSave } = this.props();
    onSave?.();
    return onSave !== undefined;
  }
}
