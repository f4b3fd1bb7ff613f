import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorSelection, EditorState, type Extension } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  type KeyBinding,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { t } from "../text/text.ts";
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

/** Usual key bindings of code editors. */
export const keyBindings: readonly KeyBinding[] = [
  ...closeBracketsKeymap,
  ...defaultKeymap,
  ...searchKeymap,
  ...historyKeymap,
  ...completionKeymap,
  // Tab indents. Escape, then Tab leaves the editor, so that keyboard users are not trapped.
  indentWithTab,
];

/**
 * Replaces the selection when the person types over it. Chromium would keep the style of the replaced text in an inline style, which
 * the page's Content-Security-Policy forbids and reports.
 */
export const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event;
    const { main } = view.state.selection;
    if (inputType !== "insertText" || data === null || main.empty || view.composing || view.state.readOnly)
      return false;
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    const isHandled = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, main.from, main.to, data, insert));
    if (!isHandled) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});

const secret = Decoration.mark({ class: "cm-secret" });

/** Shows matches of a pattern as dots. The text can still be edited and copied. */
export function maskSecrets(pattern: RegExp): Extension {
  const finder = new MatchDecorator({ regexp: pattern, decoration: secret });
  return ViewPlugin.define<{ found: DecorationSet; update(update: ViewUpdate): void }>(
    (view) => ({
      found: finder.createDeco(view),
      update(update) {
        this.found = finder.updateDeco(update, this.found);
      },
    }),
    { decorations: ({ found }) => found },
  );
}

/** Theme with the page's colours: CSS custom properties are inherited into the shadow root. */
export const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--field)", fontSize: "13px", height: "100%" },
  // The element around the editor shows the focus ring; here the gutter would cover part of it.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--hover)" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--warn-soft)", outline: "2px solid var(--warn)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete > ul > li": { color: "var(--text)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-completionDetail": { color: "var(--muted)" },
  "li[aria-selected] > .cm-completionDetail": { color: "inherit" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", fontSize: "0.9rem" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel.cm-search": {
    padding: "0.4rem 2.6rem 0.4rem 0.6rem",
    "& input, & button, & label": { margin: "0.2rem 0.4rem 0.2rem 0", verticalAlign: "middle" },
    "& input.cm-textfield": { width: "14rem", maxWidth: "100%" },
    "& label": { display: "inline-flex", alignItems: "center", fontSize: "inherit" },
    "& input[type=checkbox]": {
      width: "1.05rem",
      height: "1.05rem",
      margin: "0 0.35rem 0 0",
      accentColor: "var(--accent)",
    },
    "& [name=close]": {
      top: "0.4rem",
      right: "0.4rem",
      width: "2.15rem",
      height: "2.15rem",
      margin: 0,
      borderRadius: "var(--round)",
      color: "var(--muted)",
      fontSize: "1.2rem",
      cursor: "pointer",
      "&:hover": { backgroundColor: "var(--hover)", color: "var(--text)" },
    },
  },
  ".cm-panels :focus-visible": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-textfield": {
    boxSizing: "border-box",
    minHeight: "2.15rem",
    padding: "0.3rem 0.65rem",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--round)",
    backgroundColor: "var(--field)",
    color: "var(--text)",
    font: "inherit",
  },
  ".cm-button": {
    minHeight: "2.15rem",
    padding: "0.3rem 0.8rem",
    border: "1px solid var(--line)",
    borderRadius: "var(--round)",
    backgroundColor: "var(--surface)",
    backgroundImage: "none",
    color: "var(--text)",
    font: "inherit",
    fontWeight: "500",
    cursor: "pointer",
    "&:hover": { backgroundColor: "var(--hover)" },
    "&:active": { backgroundColor: "var(--pressed)", backgroundImage: "none" },
  },
  // On a phone the text above the panel needs the place.
  "@media (max-width: 760px)": {
    ".cm-panels": { fontSize: "0.8rem" },
    ".cm-panel.cm-search": {
      padding: "0.2rem 2rem 0.2rem 0.4rem",
      "& input, & button, & label": { margin: "0.1rem 0.25rem 0.1rem 0" },
      "& input.cm-textfield": { width: "7.5rem" },
      "& [name=close]": { top: "0.1rem", right: "0.1rem" },
    },
    ".cm-textfield, .cm-button": { minHeight: "1.7rem", padding: "0.1rem 0.4rem" },
    // It would cover the list.
    ".cm-tooltip.cm-completionInfo": { display: "none" },
  },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textDecorationSkipInk: "none",
  },
  ".cm-lintRange-warning": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--warn)",
    textDecorationSkipInk: "none",
  },
  ".cm-lintPoint-warning:after": { borderBottomColor: "var(--warn)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--bad)" },
  ".cm-secret": { "-webkit-text-security": "disc" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

export const highlightStyle = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.typeName], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.attributeName, tags.tagName], color: "var(--code-name)" },
]);
