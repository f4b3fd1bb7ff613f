import { signal } from "@preact/signals";
import type { PageEntry } from "../pages.ts";
import type { Session } from "../session/session.ts";

/** Dialogs of the keyboard. Their code and texts are fetched when the first one is opened. */
export type KeyboardDialog = "palette" | "help";

export interface KeyboardDialogProps {
  readonly session: Session;
  /** Page that is shown; undefined at an address without a page. */
  readonly current: PageEntry | undefined;
  readonly onClose: () => void;
}

/** The dialog that is open. */
export const openedDialog = signal<KeyboardDialog | undefined>(undefined);

/** Opens the command palette or the help. */
export function openKeyboardDialog(dialog: KeyboardDialog): void {
  openedDialog.value = dialog;
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
/** Name of the key that starts the command palette, as the keyboard shows it. */
export const paletteKey = isMac ? "⌘K" : "Ctrl+K";
