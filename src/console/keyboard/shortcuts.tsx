import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { importCode } from "../connection.ts";
import { loadTexts } from "../text/text.ts";
import { showError } from "../ui/toasts.tsx";
import { coverOfSearch } from "./cover-of-search.ts";
import {
  isMac,
  type KeyboardDialog,
  type KeyboardDialogProps,
  openedDialog,
  openKeyboardDialog,
} from "./dialogs.ts";

/** Shortcuts of the whole console, and the dialog that one of them has opened. */
export function Shortcuts(props: Omit<KeyboardDialogProps, "onClose">) {
  // A layout effect, because other effects run after the next paint: a key pressed as soon as the page is seen would be lost.
  useLayoutEffect(() => {
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
      openedDialog.value = undefined;
    };
  }, []);
  const dialog = openedDialog.value;
  // A dialog that asks for another token is above everything.
  if (dialog === undefined || props.session.ended.value !== undefined) return null;
  return <LoadedDialog key={dialog} dialog={dialog} {...props} />;
}

function LoadedDialog({
  dialog,
  ...props
}: Omit<KeyboardDialogProps, "onClose"> & { readonly dialog: KeyboardDialog }) {
  const [Component, setComponent] = useState<ComponentType<KeyboardDialogProps>>();
  const close = () => {
    openedDialog.value = undefined;
  };
  useEffect(() => {
    let gone = false;
    importCode(() => Promise.all([load[dialog](), loadTexts("help")])).then(
      ([loaded]) => {
        if (!gone) setComponent(() => loaded);
      },
      (error) => {
        close();
        showError(error);
      },
    );
    return () => {
      gone = true;
    };
  }, []);
  return Component === undefined ? null : <Component {...props} onClose={close} />;
}

const load: Readonly<Record<KeyboardDialog, () => Promise<ComponentType<KeyboardDialogProps>>>> = {
  palette: async () => (await import("./palette.tsx")).Palette,
  help: async () => (await import("./help.tsx")).Help,
};

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]") !== null) return;
  if (event.key.toLowerCase() === "k" && (isMac ? event.metaKey : event.ctrlKey) && !event.shiftKey) {
    event.preventDefault();
    openKeyboardDialog("palette");
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "?") openKeyboardDialog("help");
  else if (event.key !== "/" || !focusSearch()) return;
  event.preventDefault();
}

/** Whether a key press goes into a text. The editor has a shadow root, so its container is the target. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest(
      "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], .editor",
    ) !== null
  );
}

/** Focuses the search or filter of the page, which a bar of its own may hide. False when it has none. */
function focusSearch(): boolean {
  if (focusField()) return true;
  const uncover = coverOfSearch.current;
  uncover?.();
  // Preact renders in a microtask that was queued by then.
  queueMicrotask(focusField);
  return uncover !== undefined;
}

function focusField(): boolean {
  const field = document.querySelector<HTMLInputElement>('#main input[type="search"]:enabled');
  field?.focus();
  field?.select();
  return field !== null;
}
