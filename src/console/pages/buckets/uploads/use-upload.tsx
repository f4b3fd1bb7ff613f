import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { untilReachable } from "../../../connection.ts";
import { hasFiles, takeDrop } from "../../../stray-drops.ts";
import { join } from "../path.ts";
import { contentsOf, type DropContents, type DroppedEntry, droppedFolders, walk } from "./drop.ts";
import { type FolderAnswer, FolderDialog, ReplaceDialog } from "./upload-dialogs.tsx";
import { type Answer, startUpload, type UploadTarget } from "./upload-start.ts";

interface UploadStart {
  readonly start: (target: UploadTarget, dropped: DropContents) => Promise<void>;
  /** Open dialog, to be rendered. */
  readonly question: VNode | undefined;
}

/** Starts uploads, with the dialogs that they need: one question about all dropped folders, and one about all files that exist. */
export function useUpload(): UploadStart {
  const [question, setQuestion] = useState<VNode>();
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false;
    },
    [],
  );
  /** `fallback` is the answer when the person has left the page. */
  function ask<A>(fallback: A, dialog: (answer: (given: A) => void) => VNode): Promise<A> {
    return new Promise((resolve) => {
      if (!shown.current) return resolve(fallback);
      setQuestion(
        dialog((given) => {
          setQuestion(undefined);
          resolve(given);
        }),
      );
    });
  }
  const withoutFolders = async ({ bucket, files, into }: UploadTarget, dropped: DropContents) => {
    const folders = droppedFolders(dropped);
    const contents = folders.length > 0 ? contentsOf(dropped) : undefined;
    if (contents === undefined) return dropped;
    const isFirst = into === "" && (await untilReachable(() => files.list(""))).length === 0;
    const question = { into: join(bucket, into), folders, isFirst };
    const wanted = await ask<FolderAnswer>("folder", (answer) => (
      <FolderDialog {...question} answer={answer} />
    ));
    if (wanted === "cancel") return undefined;
    return wanted === "contents" ? contents : dropped;
  };
  const start = async (target: UploadTarget, dropped: DropContents) => {
    const wanted = await withoutFolders(target, dropped);
    if (wanted === undefined) return;
    await startUpload(target, wanted, (plan) =>
      ask<Answer>("skip", (answer) => <ReplaceDialog plan={plan} answer={answer} />),
    );
  };
  return { start, question };
}

/**
 * Makes the whole page a drop target. Returns the path of the folder whose row files are dragged over, or "" elsewhere;
 * undefined while nothing is dragged.
 */
export function useDrop(
  onDrop: (dropped: Promise<DropContents>, folder: string) => void,
): string | undefined {
  const [hovering, setHovering] = useState<string>();
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    const listening = new AbortController();
    const on = (type: "dragover" | "dragleave" | "drop", listen: (event: DragEvent) => void) =>
      addEventListener(type, listen, { signal: listening.signal });
    const isFree = () => document.querySelector("dialog[open]") === null;
    on("dragover", (event) => {
      if (hasFiles(event)) setHovering(isFree() ? folderAt(event) : undefined);
    });
    on("dragleave", ({ relatedTarget }) => {
      if (relatedTarget === null) setHovering(undefined);
    });
    // No `dragleave` comes if the element under the mouse was replaced. Only when a drag is over does the mouse send this again.
    addEventListener("pointermove", () => setHovering(undefined), { signal: listening.signal });
    on("drop", (event) => {
      if (!hasFiles(event)) return;
      takeDrop(event);
      setHovering(undefined);
      if (isFree() && event.dataTransfer !== null)
        latest.current(contentOf(event.dataTransfer), folderAt(event));
    });
    return () => listening.abort();
  }, []);
  return hovering;
}

/** Path of the folder whose row is under the mouse, or "". */
function folderAt({ target }: DragEvent): string {
  const row = target instanceof Element ? target.closest<HTMLElement>("[data-folder]") : null;
  return row?.dataset.folder ?? "";
}

/** Files and folders of a drop. Call it during the event: the browser discards the items afterwards. */
export function contentOf({ items }: DataTransfer): Promise<DropContents> {
  const entries: DroppedEntry[] = [];
  const files: DropContents["files"] = [];
  for (const item of items) {
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry !== null) entries.push(entry);
    else if (file !== null) files.push({ path: file.name, file });
  }
  return walk(entries).then((found) => ({ ...found, files: [...files, ...found.files] }));
}
