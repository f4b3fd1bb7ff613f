import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { notDone, whenReachable } from "../connection.ts";
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

/** A short word about what was just done. */
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

/** What went wrong, in words. */
export function tell(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (isUnreachable(error)) return void tellUnreachable(error);
  toast(explain(error), "problem");
}

/** Has the banner say it while the server is away, so that there is one message however often it is tried. */
async function tellUnreachable(error: unknown): Promise<void> {
  notDone.value = true;
  // A server that answers now was not away: then there was no banner either.
  if (!(await whenReachable())) toast(explain(error), "problem");
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  const place = useRef<HTMLDivElement>(null);
  const shown = toasts.value;
  // As a popover it stands above dialogs as well; the one that is shown last is the uppermost.
  useEffect(() => {
    place.current?.hidePopover();
    if (shown.length > 0) place.current?.showPopover();
  }, [shown]);
  return (
    <div ref={place} popover="manual" class="toasts" role="status" aria-live="polite">
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
