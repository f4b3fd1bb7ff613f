import { signal } from "@preact/signals";
import { toast } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { type Transfer, transferProblem } from "./transfer.ts";

/** Entries that are dragged within the page. Files from outside are uploads, which `useDrop` handles. */
interface Drag {
  readonly transfer: Transfer;
  /** Moves the entries into a folder. */
  readonly moveInto: (folder: string) => void;
}

export const drag = signal<Drag | undefined>(undefined);
/** Path of the folder under the mouse during a drag. */
export const dropFolder = signal<string | undefined>(undefined);

/** Firefox starts no drag without data. */
const dataType = "application/x-node-server-entries";

/** Starts to drag entries. `label` is shown at the mouse. */
export function startDrag(event: DragEvent, started: Drag, label: string): void {
  const { dataTransfer } = event;
  if (dataTransfer === null) return;
  dataTransfer.effectAllowed = "move";
  dataTransfer.setData(dataType, "");
  const image = document.createElement("div");
  image.className = "files-drag";
  image.textContent = label;
  document.body.append(image);
  dataTransfer.setDragImage(image, -8, -8);
  // The browser takes a picture of it after this event.
  setTimeout(() => image.remove());
  drag.value = started;
  // `dragend` is not sent if the row was scrolled out of the page. The mouse moves again after any end.
  addEventListener("pointermove", endDrag, { once: true });
}

export function endDrag(): void {
  drag.value = undefined;
  dropFolder.value = undefined;
}

/** Reason why the dragged entries cannot go into a folder, or undefined. */
export function dragProblem(folder: string): string | undefined {
  const problem = drag.value && transferProblem(drag.value.transfer, folder);
  return problem === undefined ? undefined : visibleText(problem);
}

type OnDrag = (event: DragEvent) => void;

interface DropEvents {
  readonly onDragEnter: OnDrag;
  readonly onDragOver: OnDrag;
  readonly onDragLeave: OnDrag;
  readonly onDrop: OnDrag;
}

/** Listeners that make an element stand for a folder during a drag. A folder that cannot take the entries says why. */
export function dropEvents(folder: string): DropEvents {
  const accept = (event: DragEvent) => {
    if (drag.peek() === undefined) return;
    event.preventDefault();
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "move";
    dropFolder.value = folder;
  };
  return {
    onDragEnter: accept,
    onDragOver: accept,
    onDragLeave: ({ currentTarget, relatedTarget }) => {
      const isInside = currentTarget instanceof Node && currentTarget.contains(relatedTarget as Node | null);
      if (!isInside && dropFolder.peek() === folder) dropFolder.value = undefined;
    },
    onDrop: (event) => {
      const dropped = drag.peek();
      if (dropped === undefined) return;
      event.preventDefault();
      const problem = dragProblem(folder);
      endDrag();
      if (problem === undefined) dropped.moveInto(folder);
      else toast(problem, "notice");
    },
  };
}

/** Class of an element that stands for a folder: whether the mouse is over it, and whether it takes the entries. */
export function dropClass(folder: string): string {
  if (dropFolder.value !== folder) return "";
  return dragProblem(folder) === undefined ? " drop-into" : " drop-refused";
}
