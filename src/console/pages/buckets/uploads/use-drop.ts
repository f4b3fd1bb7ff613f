import { useEffect, useRef, useState } from "preact/hooks";
import { type Dropped, type DroppedEntry, walk } from "./drop.ts";

/** Files and folders dropped anywhere on the page; true while some are held above it. */
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
      // Without this a browser leaves the page and shows the file.
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

/** The files and folders of a drop. To be called within its event: they are gone when that is over. */
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
