import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { useBackdropClick } from "./backdrop.ts";
import { Button, IconButton } from "./button.tsx";

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Also by Escape. */
  readonly onClose: () => void;
  readonly wide?: boolean;
  /** A click beside it closes it as well: for what is only looked at. */
  readonly closesOnBackdrop?: boolean;
}

/** A window above the page. The browser holds the focus inside and gives it back at the end. */
export function Dialog({ title, children, onClose, wide, closesOnBackdrop }: DialogProps) {
  const own = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useBackdropClick(own, closesOnBackdrop ? onClose : undefined);
  useEffect(() => {
    const before = document.activeElement;
    own.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={own}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event: Event) => {
        event.preventDefault();
        onClose();
      }}
      // By a second Escape a browser closes it whatever the page says to that.
      onClose={() => own.current?.showModal()}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
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
    <Dialog title={asked.title} onClose={() => asked.answer(false)}>
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
