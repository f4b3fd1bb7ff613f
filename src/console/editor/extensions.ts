import { closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle } from "@codemirror/language";
import { searchKeymap } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  type KeyBinding,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

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
