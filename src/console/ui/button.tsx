import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";
import { showError } from "./toasts.tsx";

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly icon?: IconName;
  readonly kind?: "plain" | "primary" | "danger" | "quiet";
  readonly type?: "button" | "submit";
  readonly disabled?: boolean;
  /** Something that the button has started, or needs, is under way. It keeps the focus, and clicks do nothing. */
  readonly busy?: boolean;
  /** Whether a switch is on. */
  readonly pressed?: boolean;
  readonly title?: string;
  /** The button is busy until a returned promise settles. A rejection is shown as a toast. */
  readonly onClick?: (event: MouseEvent) => unknown;
}

export function Button({
  children,
  icon,
  kind = "plain",
  type = "button",
  disabled,
  busy: waits = false,
  pressed,
  title,
  onClick,
}: ButtonProps) {
  const { busy, onClick: click } = useBusy(onClick, waits);
  return (
    <button
      type={type}
      class={`button ${kind}`}
      disabled={disabled}
      title={title}
      aria-pressed={pressed}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={click}
    >
      {icon !== undefined && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  /** Accessible name and tooltip. */
  readonly label: string;
  readonly disabled?: boolean;
  /** As of a `Button`. */
  readonly busy?: boolean;
  readonly pressed?: boolean;
  readonly onClick: (event: MouseEvent) => unknown;
}

export function IconButton({ icon, label, disabled, busy: waits, pressed, onClick }: IconButtonProps) {
  const { busy, onClick: click } = useBusy(onClick, waits);
  return (
    <button
      type="button"
      class="button quiet icon-only"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      disabled={disabled}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={click}
    >
      <Icon name={icon} />
    </button>
  );
}

/**
 * `useBusy` ignores clicks while the work of an earlier one runs, or while `waits` is set. The button must not be `disabled` meanwhile:
 * it would lose the focus to the page.
 */
function useBusy(work: ButtonProps["onClick"], waits = false) {
  const [isRunning, setRunning] = useState(false);
  const busy = waits || isRunning;
  const onClick = async (event: MouseEvent) => {
    // A submit button would send its form.
    if (busy) return event.preventDefault();
    try {
      const running = work?.(event);
      if (!(running instanceof Promise)) return;
      setRunning(true);
      await running;
    } catch (error) {
      showError(error);
    } finally {
      setRunning(false);
    }
  };
  return { busy, onClick };
}
