import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { useBackdropClick } from "./backdrop.ts";
import { Button, IconButton } from "./button.tsx";

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Also by Escape. Undefined: it cannot be closed, only answered. */
  readonly onClose: (() => void) | undefined;
  readonly wide?: boolean;
  /** A click beside it closes it as well: for what is only looked at. */
  readonly closesOnBackdrop?: boolean;
}

/**
 * A window above the page. The browser holds the focus inside and gives it back at the end. It starts on the element marked
 * `data-initial-focus`, else on the first field, else on the button that changes nothing, else on the heading; never on "Close".
 */
export function Dialog({ title, children, onClose, wide, closesOnBackdrop }: DialogProps) {
  const own = useRef<HTMLDialogElement>(null);
  const focused = useRef<Element | null>(null);
  const heading = useId();
  useBackdropClick(own, closesOnBackdrop ? onClose : undefined);
  // A layout effect, because Preact runs others after the next paint. Keys pressed right after the dialog opened would miss its
  // field, and a focus given back late would be taken from what the person has clicked since.
  useLayoutEffect(() => {
    const dialog = own.current;
    if (dialog === null) return;
    dialog.showModal();
    startOf(dialog)?.focus();
    return () => dialog.close();
  }, []);
  const onEscape = (event: Event) => {
    focused.current = document.activeElement;
    if (!event.cancelable) return;
    event.preventDefault();
    onClose?.();
  };
  // By a second Escape a browser closes a dialog whatever the page says to that. It opens again, in the same state, and only
  // then asks: a question that came first would be below it.
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
        {onClose !== undefined && <IconButton icon="close" label="Close" onClick={onClose} />}
      </header>
      {children}
    </dialog>
  );
}

const field =
  'input:not([type="checkbox"], [type="radio"], [type="file"], :disabled), select:enabled, textarea:enabled';
const cancel = "footer .button:enabled:not(.primary, .danger)";

function startOf(dialog: HTMLDialogElement): HTMLElement | undefined {
  return ["[data-initial-focus]", field, cancel, "h2"]
    .map((selector) => dialog.querySelector<HTMLElement>(selector))
    .find((found) => found !== null);
}

interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  /** The word on the button that does it. */
  readonly action: string;
  readonly danger?: boolean;
  readonly answer: (yes: boolean) => void;
}

const question = signal<Question | undefined>(undefined);

/** Asks before what cannot be undone. */
export function confirm(asked: Omit<Question, "answer">): Promise<boolean> {
  return new Promise((resolve) => {
    dropQuestion();
    question.value = {
      ...asked,
      answer: (yes) => {
        question.value = undefined;
        resolve(yes);
      },
    };
  });
}

/** Nobody is there any more who could answer. */
export function dropQuestion(): void {
  question.peek()?.answer(false);
}

/** Where `confirm` asks. Stands once in the page. */
export function Questions() {
  const asked = question.value;
  if (asked === undefined) return null;
  return (
    <Dialog key={asked} title={asked.title} onClose={() => asked.answer(false)}>
      <div class="dialog-text">{asked.text}</div>
      <footer>
        <Button onClick={() => asked.answer(false)}>Cancel</Button>
        <Button kind={asked.danger ? "danger" : "primary"} onClick={() => asked.answer(true)}>
          {asked.action}
        </Button>
      </footer>
    </Dialog>
  );
}
