import { t } from "./text/text.ts";
import { toast } from "./ui/toasts.tsx";

/** Drops whose files a target has taken. */
const taken = new WeakSet<Event>();

/** takeDrop says that a target has taken the files of a drop: nobody is told then that they fell beside one. */
export function takeDrop(event: DragEvent): void {
  taken.add(event);
}

/** hasFiles tells whether files from outside of the page are dragged. */
export function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes("Files") === true;
}

/**
 * guardStrayDrops keeps the browser from leaving the console to open a dropped file. It prevents that before any target sees the event;
 * of an editor afterwards, because an editor takes the text of files that nobody has prevented.
 */
export function guardStrayDrops(): void {
  const keepPage = (event: DragEvent) => {
    if (hasFiles(event)) event.preventDefault();
  };
  addEventListener("dragover", keepPage, { capture: true });
  addEventListener("drop", keepPage);
  addEventListener(
    "drop",
    (event: DragEvent) => {
      if (isInEditor(event) || !hasFiles(event)) return;
      event.preventDefault();
      // By then every target has seen the event.
      setTimeout(() => {
        if (!taken.has(event)) toast(t.frame.strayDrop, "notice");
      });
    },
    { capture: true },
  );
}

/** Returns true for a drop on the text of an editor, which is in a shadow tree. */
function isInEditor(event: DragEvent): boolean {
  return event.composedPath().some((one) => one instanceof Element && one.classList.contains("cm-content"));
}
