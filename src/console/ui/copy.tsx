import { useState } from "preact/hooks";
import { t } from "../text/text.ts";
import { Icon, type IconName } from "./icons.tsx";
import { showError } from "./toasts.tsx";

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  /** What is copied: "link" for an address. */
  readonly icon?: IconName;
  /** Gets the focus when its dialog opens. */
  readonly initialFocus?: boolean;
}

/** Copies a text to the clipboard and confirms it. */
export function CopyButton({ text, label = t.frame.copy, icon = "copy", initialFocus }: CopyButtonProps) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await toClipboard(text);
      setDone(true);
      setTimeout(() => setDone(false), 2000);
    } catch (error) {
      showError(error);
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
      <Icon name={done ? "check" : icon} />
      <span aria-live="polite">{done ? t.frame.copied : label}</span>
    </button>
  );
}

/** Copies a text. Over plain http browsers offer no clipboard API, but a selection can still be copied. */
export async function toClipboard(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  // While a modal dialog is open, only elements inside it can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error(t.frame.cannotCopy);
}

/** Downloads a blob as a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser starts reading the blob after the click handler returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
