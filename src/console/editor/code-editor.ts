import { autocompletion, closeBrackets, closeCompletion } from "@codemirror/autocomplete";
import { history } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches } from "@codemirror/search";
import { Compartment, EditorSelection, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { t } from "../text/text.ts";
import { highlightStyle, keyBindings, maskSecrets, replaceSelection, theme } from "./extensions.ts";
import { languageOf } from "./languages.ts";
import type { EditorHandle, EditorProps, Mark, Position } from "./props.ts";

/**
 * CodeMirror inside a shadow root. There it adds its styles as constructed style sheets, which the page's Content-Security-Policy
 * allows, instead of `<style>` elements, which it forbids.
 */
export class CodeEditor implements EditorHandle {
  readonly #props: () => EditorProps;
  readonly #view: EditorView;
  readonly #language = new Compartment();
  readonly #secrets = new Compartment();
  readonly #phrases = new Compartment();
  /** Incremented for each requested language, so that a slow import does not replace a later one. */
  #languageRequest = 0;

  constructor(container: HTMLElement, props: () => EditorProps) {
    this.#props = props;
    const root = container.shadowRoot ?? container.attachShadow({ mode: "open", delegatesFocus: true });
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
          replaceSelection,
          autocompletion({ icons: false }),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxHighlighting(highlightStyle),
          theme,
          EditorState.readOnly.of(readOnly),
          // A read-only text can still be focused, selected and scrolled by keyboard.
          EditorView.contentAttributes.of({ "aria-multiline": "true" }),
          this.#phrases.of(phrases(label)),
          EditorView.lineWrapping,
          this.#language.of([]),
          this.#secrets.of([]),
          keymap.of([
            { key: "Mod-Enter", run: () => this.#run() },
            { key: "Mod-s", run: () => this.#save() },
            ...keyBindings,
          ]),
          EditorView.updateListener.of(({ docChanged, selectionSet }) => {
            if (docChanged) this.#props().onChange?.(this.text);
            if (docChanged || selectionSet) this.#props().onCursor?.(this.#cursor);
          }),
        ],
      }),
    });
    props().onCursor?.(this.#cursor);
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  focus(): void {
    this.#view.focus();
  }

  /** Replaces the text. An equal text leaves the cursor where it is. */
  setText(text: string): void {
    if (text !== this.text)
      this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  get selected(): Position & { readonly text: string } {
    const { doc, selection } = this.#view.state;
    const { from, to } = selection.main;
    const { number, from: start } = doc.lineAt(from);
    return { text: doc.sliceString(from, to), line: number, column: from - start + 1 };
  }

  get #cursor(): Position {
    const { doc, selection } = this.#view.state;
    const { number, from } = doc.lineAt(selection.main.head);
    return { line: number, column: selection.main.head - from + 1 };
  }

  insert(text: string): void {
    this.#view.dispatch(this.#view.state.replaceSelection(text), { scrollIntoView: true });
    this.#view.focus();
  }

  goTo(container: Position): void {
    const at = EditorSelection.cursor(this.#offset(container));
    this.#view.dispatch({ selection: at, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    this.#view.focus();
  }

  setSecrets(secrets: RegExp | undefined): void {
    const effects = this.#secrets.reconfigure(secrets === undefined ? [] : maskSecrets(secrets));
    this.#view.dispatch({ effects });
  }

  /** Follows the language. A panel that is open keeps its words. */
  setPhrases(): void {
    this.#view.dispatch({ effects: this.#phrases.reconfigure(phrases(this.#props().label)) });
  }

  setMarks(marks: readonly Mark[]): void {
    const found = marks.map((mark) => this.#toDiagnostic(mark));
    this.#view.dispatch(setDiagnostics(this.#view.state, found));
  }

  async setLanguage(props: EditorProps): Promise<void> {
    this.#languageRequest += 1;
    const request = this.#languageRequest;
    const support = await languageOf(props);
    if (request === this.#languageRequest)
      this.#view.dispatch({ effects: this.#language.reconfigure(support) });
  }

  close(): void {
    this.#languageRequest += 1;
    this.#view.destroy();
  }

  #toDiagnostic(mark: Mark): Diagnostic {
    const at = this.#offset(mark);
    const row = this.#view.state.doc.lineAt(at);
    // At the end of a line there is nothing to underline, so underline the line itself.
    const from = at < row.to ? at : row.from + Math.max(row.text.search(/\S/), 0);
    return { from, to: row.to, severity: mark.severity ?? "error", message: mark.message };
  }

  /** Offset of a position, clamped to the text. */
  #offset({ line, column }: Position): number {
    const { doc } = this.#view.state;
    const row = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return Math.min(row.from + Math.max(column - 1, 0), row.to);
  }

  #run(): boolean {
    const { onRun } = this.#props();
    closeCompletion(this.#view);
    onRun?.(this.text, this.selected.text);
    return onRun !== undefined;
  }

  #save(): boolean {
    const { onSave } = this.#props();
    onSave?.();
    return onSave !== undefined;
  }
}

/** The editor's own words, and what it is called. */
function phrases(label: string): Extension {
  return [
    EditorState.phrases.of(t.editor.phrases),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-description": t.editor.leave }),
  ];
}
