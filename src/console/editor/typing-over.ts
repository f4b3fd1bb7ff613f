import { EditorView } from "@codemirror/view";

/**
 * What is typed over a selection, Chromium puts into the style of what it replaces: as an inline style, which the page's policy
 * forbids and complains about. So the editor does it before the browser can.
 */
export const typingOver = EditorView.domEventHandlers({
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
