import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { hasFailedAction, whenReachable } from "../connection.ts";
import { Icon } from "./icons.tsx";
import { explain, isUnreachable } from "./problem.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "done" | "notice" | "problem";
}

const toasts = signal<readonly Toast[]>([]);
const shownMs = { done: 4000, notice: 8000, problem: 12_000 };
let next = 1;

/** Shows a short message. */
export function toast(text: string, kind: Toast["kind"] = "done"): void {
  showToast(text, kind);
}

/** Shows a short message; returns a function that dismisses it when it is no longer true. */
export function showToast(text: string, kind: Toast["kind"]): () => void {
  const one = { id: next++, text, kind };
  toasts.value = [...toasts.value.slice(-4), one];
  setTimeout(() => dismiss(one.id), shownMs[kind]);
  return () => dismiss(one.id);
}

/** Shows an error as a toast. An `AbortError` is ignored: the person cancelled. */
export function showError(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (isUnreachable(error)) return void showUnreachable(error);
  toast(explain(error), "problem");
}

/** Leaves an outage to the connection banner, so that many failed attempts give one message. */
async function showUnreachable(error: unknown): Promise<void> {
  hasFailedAction.value = true;
  // When the server answers at once there was no outage, and no banner.
  if (!(await whenReachable())) toast(explain(error), "problem");
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  const container = useRef<HTMLDivElement>(null);
  const shown = toasts.value;
  // A popover is above dialogs. Showing it again makes it the topmost.
  useEffect(() => {
    container.current?.hidePopover();
    if (shown.length > 0) container.current?.showPopover();
  }, [shown]);
  return (
    <div ref={container} popover="manual" class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === "done" ? "check" : "warning"} />
          <span>{text}</span>
          <button
            type="button"
            class="button quiet icon-only"
            aria-label="Dismiss"
            onClick={() => dismiss(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
