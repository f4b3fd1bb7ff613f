import { useState } from "preact/hooks";
import { Icon } from "./icons.tsx";
import { tell } from "./toasts.tsx";

export interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  /** A dialog starts on it. */
  readonly initialFocus?: boolean;
}

/** Puts a text on the clipboard and says so. */
export function CopyButton({ text, label = "Copy", initialFocus }: CopyButtonProps) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await toClipboard(text);
      setDone(true);
      setTimeout(() => setDone(false), 2000);
    } catch (error) {
      tell(error);
    }
  };
  return (
    <button
      type="button"
      class="button"
      title={label}
      data-initial-focus={initialFocus || undefined}
      onClick={copy}
    >
      <Icon name={done ? "check" : "copy"} />
      <span aria-live="polite">{done ? "Copied" : label}</span>
    </button>
  );
}

/** Over plain http browsers have no clipboard for scripts, but a selected text can be copied. */
async function toClipboard(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  // Inside an open dialog nothing outside it can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied)
    throw new Error("the browser does not let this page copy; select the text and copy it by hand");
}
