import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toast } from "../../../ui/toasts.tsx";
import type { OpenBucket } from "../bucket-access.ts";
import { contentsOf, type Dropped, type DroppedEntry, onlyFolder, walk } from "./drop.ts";
import { type FolderAnswer, FolderDialog, ReplaceDialog } from "./upload-dialogs.tsx";
import { type Answer, startUpload } from "./upload-start.ts";

export interface UploadStart {
  readonly start: (dropped: Dropped) => Promise<void>;
  /** Open dialog, to be rendered. */
  readonly question: VNode | undefined;
}

/** Uploads into a folder of an open bucket, with the dialogs that this needs. */
export function useUpload({ name, access }: OpenBucket, path: string): UploadStart {
  const [question, setQuestion] = useState<VNode>();
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false;
    },
    [],
  );
  /** `fallback` is the answer when the person has left the folder. */
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
  const start = async (dropped: Dropped) => {
    const { files } = access;
    if (files === undefined) return toast(access.why, "problem");
    const folder = path === "" ? onlyFolder(dropped) : undefined;
    const isFirst = folder !== undefined && (await files.list("")).length === 0;
    const wanted = isFirst
      ? await ask<FolderAnswer>("folder", (answer) => (
          <FolderDialog bucket={name} folder={folder} answer={answer} />
        ))
      : "folder";
    if (wanted === "cancel") return;
    const sent = wanted === "contents" && folder !== undefined ? contentsOf(dropped, folder) : dropped;
    await startUpload({ bucket: name, files, into: path }, sent, (plan) =>
      ask<Answer>("skip", (answer) => <ReplaceDialog plan={plan} answer={answer} />),
    );
  };
  return { start, question };
}

/** Makes the whole page a drop target. Returns whether files are dragged over it. */
export function useDrop(onDrop: (dropped: Promise<Dropped>) => void): boolean {
  const [hovering, setHovering] = useState(false);
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    const listening = new AbortController();
    const on = (type: "dragover" | "dragleave" | "drop", listen: (event: DragEvent) => void) =>
      addEventListener(type, listen, { signal: listening.signal });
    const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes("Files") === true;
    const isFree = () => document.querySelector("dialog[open]") === null;
    on("dragover", (event) => {
      if (!hasFiles(event)) return;
      // Without this the browser leaves the page and opens the file.
      event.preventDefault();
      setHovering(isFree());
    });
    on("dragleave", ({ relatedTarget }) => {
      if (relatedTarget === null) setHovering(false);
    });
    on("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setHovering(false);
      if (isFree() && event.dataTransfer !== null) latest.current(contentOf(event.dataTransfer));
    });
    return () => listening.abort();
  }, []);
  return hovering;
}

/** Files and folders of a drop. Call it during the event: the browser discards the items afterwards. */
export function contentOf({ items }: DataTransfer): Promise<Dropped> {
  const entries: DroppedEntry[] = [];
  const files: Dropped["files"] = [];
  for (const item of items) {
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry !== null) entries.push(entry);
    else if (file !== null) files.push({ path: file.name, file });
  }
  return walk(entries).then((found) => ({ ...found, files: [...files, ...found.files] }));
}
