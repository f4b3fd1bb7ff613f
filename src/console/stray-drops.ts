import { toast } from "./ui/toasts.tsx";

/**
 * Keeps the browser on the console when a file is dropped where nothing takes it: it would leave the page and open the file.
 * Whatever takes a drop prevents the event's default, and is left alone.
 */
export function guardStrayDrops(): void {
  for (const type of ["dragover", "drop"] as const) {
    const beLast = () => {
      removeEventListener(type, keepPage);
      addEventListener(type, keepPage);
    };
    // Asked at the start of each event, so that the guard comes behind every listener that a page has added since.
    addEventListener(type, beLast, { capture: true });
  }
}

function keepPage(event: DragEvent): void {
  if (event.defaultPrevented || event.dataTransfer?.types.includes("Files") !== true) return;
  event.preventDefault();
  if (event.type === "drop") toast("Drop files onto a bucket to upload them.", "notice");
}
