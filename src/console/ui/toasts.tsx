import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { hasFailedAction, whenReachable } from "../connection.ts";
import { t } from "../text/text.ts";
import { Icon } from "./icons.tsx";
import { publishHeight } from "./page.tsx";
import { explain, isUnreachable } from "./problem.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "done" | "notice" | "problem";
  readonly action?: ToastAction | undefined;
}

/** What the person can do about a message, such as undo. */
interface ToastAction {
  readonly label: string;
  /** A rejection is shown as a toast. */
  readonly run: () => Promise<void>;
}

const toasts = signal<readonly Toast[]>([]);
const shownMs = { done: 4000, notice: 8000, problem: 12_000 };
/** Time to read a message and decide. */
const actionMs = 15_000;
/** Messages stay while the mouse or the focus is on one of them, and are looked at again after this time. */
const heldMs = 2000;
let next = 1;

/** Shows a short message. */
export function toast(text: string, kind: Toast["kind"] = "done"): void {
  showToast(text, kind);
}

/** Shows what was done, with a button for one more action. */
export function toastWithAction(text: string, action: ToastAction): void {
  add({ text, kind: "done", action }, actionMs);
}

/** Shows a short message; returns a function that dismisses it when it is no longer true. */
export function showToast(text: string, kind: Toast["kind"]): () => void {
  return add({ text, kind }, shownMs[kind]);
}

function add(shown: Omit<Toast, "id">, ms: number): () => void {
  const one = { id: next++, ...shown };
  // A message that is repeated replaces the earlier one.
  const others = toasts.value.filter(
    ({ text, kind, action }) => action !== undefined || text !== one.text || kind !== one.kind,
  );
  toasts.value = [...others.slice(-4), one];
  setTimeout(() => expire(one.id), ms);
  return () => dismiss(one.id);
}

function expire(id: number): void {
  const isHeld = document.querySelector(".toasts:is(:hover, :focus-within)") !== null;
  if (isHeld) setTimeout(() => expire(id), heldMs);
  else dismiss(id);
}

/** Runs the action once: its message is gone. */
function runAction(id: number, { run }: ToastAction): void {
  dismiss(id);
  run().catch(showError);
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
  const holder = document.activeElement?.closest<HTMLElement>(".toast");
  toasts.value = toasts.value.filter((one) => one.id !== id);
  if (holder?.dataset.id === String(id)) returnFocus();
}

/** What had the focus before a message took it. */
let focusedBefore: EventTarget | null = null;

function returnFocus(): void {
  const isThere = focusedBefore instanceof HTMLElement && focusedBefore.isConnected;
  const target = isThere ? focusedBefore : document.querySelector("main h1");
  if (target instanceof HTMLElement) target.focus({ preventScroll: true });
}

export function Toasts() {
  const container = useRef<HTMLDivElement>(null);
  const shown = toasts.value;
  // A popover is above dialogs. Showing it again makes it the topmost.
  useEffect(() => {
    const { activeElement: focused } = document;
    const hadFocus = container.current?.contains(focused) ? focusedBefore : undefined;
    container.current?.hidePopover();
    if (shown.length > 0) container.current?.showPopover();
    if (hadFocus === undefined || !(focused instanceof HTMLElement)) return;
    // A hidden popover loses the focus.
    focused.focus();
    focusedBefore = hadFocus;
  }, [shown]);
  useLayoutEffect(() => publishHeight(container.current, "--toast-height"), []);
  return (
    <div
      ref={container}
      popover="manual"
      class="toasts"
      role="status"
      aria-live="polite"
      onFocusIn={({ relatedTarget }: FocusEvent) => {
        if (!container.current?.contains(relatedTarget as Node | null)) focusedBefore = relatedTarget;
      }}
    >
      {shown.map(({ id, text, kind, action }) => (
        <div key={id} data-id={id} class={`toast ${kind}`}>
          <Icon name={kind === "done" ? "check" : "warning"} />
          <span>{text}</span>
          {action !== undefined && (
            <button type="button" class="button" onClick={() => runAction(id, action)}>
              {action.label}
            </button>
          )}
          <button
            type="button"
            class="button quiet icon-only"
            aria-label={t.frame.dismiss}
            onClick={() => dismiss(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
