import { render } from "preact";
import { App } from "./app.tsx";
import { loadVersion } from "./brand.tsx";
import { importCode } from "./connection.ts";
import { resume } from "./session.ts";
import { startLanguage } from "./text/choose-language.ts";
import { t } from "./text/text.ts";
import { toast } from "./ui/toasts.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no element with the id app");
guardStrayDrops();
await importCode(startLanguage);
// The name is enough without it; an outage has a banner of its own.
loadVersion().catch(() => {});
void resume();
render(<App />, root);

/**
 * Ignores files dropped outside a drop target. The browser would leave the console and open them. Drop targets call
 * `preventDefault`, which this respects.
 */
function guardStrayDrops(): void {
  for (const type of ["dragover", "drop"] as const) {
    const beLast = () => {
      removeEventListener(type, keepPage);
      addEventListener(type, keepPage);
    };
    // Re-adding the listener at the start of each event keeps it behind those that pages have added since.
    addEventListener(type, beLast, { capture: true });
  }
}

function keepPage(event: DragEvent): void {
  if (event.defaultPrevented || event.dataTransfer?.types.includes("Files") !== true) return;
  event.preventDefault();
  if (event.type === "drop") toast(t.frame.strayDrop, "notice");
}
