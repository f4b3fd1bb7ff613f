import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../text/text.ts";
import { Button, IconButton } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Called for "Close" and Escape. Undefined: the dialog has no "Close" and ignores Escape. */
  readonly onClose: (() => void) | undefined;
  readonly wide?: boolean;
  /** A click on the backdrop closes it too, for dialogs that only show something. */
  readonly closesOnBackdrop?: boolean;
}

/**
 * Modal dialog. The browser keeps the focus inside and restores it at the end. The initial focus is on the element marked
 * `data-initial-focus`, else on the first field, else on the cancel button, else on the heading; never on "Close".
 */
export function Dialog({ title, children, onClose, wide, closesOnBackdrop }: DialogProps) {
  const own = useRef<HTMLDialogElement>(null);
  const focused = useRef<Element | null>(null);
  const heading = useId();
  useBackdropClick(own, closesOnBackdrop ? onClose : undefined);
  // A layout effect, because Preact runs other effects after the next paint: keys pressed right after opening would miss the
  // field, and a late focus restore would take the focus from what the person has clicked since.
  useLayoutEffect(() => {
    const dialog = own.current;
    if (dialog === null) return;
    dialog.showModal();
    initialFocusOf(dialog)?.focus();
    return () => dialog.close();
  }, []);
  const onEscape = (event: Event) => {
    focused.current = document.activeElement;
    if (!event.cancelable) return;
    event.preventDefault();
    onClose?.();
  };
  // Browsers close a dialog at the second Escape even when `cancel` was prevented. Reopen it first, then call `onClose`: a
  // question asked by `onClose` must open above it.
  const onForcedClose = () => {
    const dialog = own.current;
    if (dialog === null || dialog.open) return;
    dialog.showModal();
    if (focused.current instanceof HTMLElement) focused.current.focus();
    onClose?.();
  };
  return (
    <dialog
      ref={own}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={onEscape}
      onClose={onForcedClose}
    >
      <header>
        <h2 id={heading} tabIndex={-1}>
          {title}
        </h2>
        {onClose !== undefined && <IconButton icon="close" label={t.frame.close} onClick={onClose} />}
      </header>
      {children}
    </dialog>
  );
}

const field =
  'input:not([type="checkbox"], [type="radio"], [type="file"], :disabled), select:enabled, textarea:enabled';
const cancel = "footer .button:enabled:not(.primary, .danger)";

function initialFocusOf(dialog: HTMLDialogElement): HTMLElement | undefined {
  return ["[data-initial-focus]", field, cancel, "h2"]
    .map((selector) => dialog.querySelector<HTMLElement>(selector))
    .find((found) => found !== null);
}

export interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  /** Label of the confirm button. */
  readonly action: string;
  readonly danger?: boolean;
}

const question = signal<(Question & { readonly answer: (yes: boolean) => void }) | undefined>(undefined);

/** Asks a yes-or-no question in a dialog. Resolves to false when it is cancelled. */
export function confirm(asked: Question): Promise<boolean> {
  return new Promise((resolve) => {
    cancelQuestion();
    question.value = {
      ...asked,
      answer: (yes) => {
        question.value = undefined;
        resolve(yes);
      },
    };
  });
}

/** Answers an open question with no, for example because the session has ended. */
export function cancelQuestion(): void {
  question.peek()?.answer(false);
}

/** Dialog of `confirm`. The app renders it once. */
export function ConfirmDialog() {
  const asked = question.value;
  if (asked === undefined) return null;
  return (
    <Dialog key={asked} title={asked.title} onClose={() => asked.answer(false)}>
      <div class="dialog-text">{asked.text}</div>
      <footer>
        <Button onClick={() => asked.answer(false)}>{t.frame.cancel}</Button>
        <Button kind={asked.danger ? "danger" : "primary"} onClick={() => asked.answer(true)}>
          {asked.action}
        </Button>
      </footer>
    </Dialog>
  );
}

/** Calls `onClick` for a click on the backdrop. Press and release must both be outside: selecting text may end there. */
function useBackdropClick(
  dialog: RefObject<HTMLDialogElement | null>,
  onClick: (() => void) | undefined,
): void {
  const latest = useRef(onClick);
  latest.current = onClick;
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    const listening = new AbortController();
    let began = false;
    const isOutside = ({ target, clientX, clientY }: MouseEvent) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const isInside = clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
      return target === element && !isInside;
    };
    const on = (type: "pointerdown" | "click", listen: (event: MouseEvent) => void) =>
      element.addEventListener(type, listen, { signal: listening.signal });
    on("pointerdown", (event) => {
      began = isOutside(event);
    });
    on("click", (event) => {
      if (began && isOutside(event)) latest.current?.();
    });
    return () => listening.abort();
  }, []);
}
