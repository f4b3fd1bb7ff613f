import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";
import { explain } from "./problem.tsx";

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
  const one = { id: next++, text, kind };
  toasts.value = [...toasts.value.slice(-4), one];
  setTimeout(() => dismiss(one.id), shownMs[kind]);
}

/** What went wrong, in words. */
export function tell(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  toast(explain(error), "problem");
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
