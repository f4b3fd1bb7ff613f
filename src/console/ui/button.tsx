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
  /** Whether a switch is on. */
  readonly pressed?: boolean;
  readonly title?: string;
  /** The button is disabled until the returned promise settles. A rejection is shown as a toast. */
  readonly onClick?: (event: MouseEvent) => void | Promise<void>;
}

export function Button({
  children,
  icon,
  kind = "plain",
  type = "button",
  disabled,
  pressed,
  title,
  onClick,
}: ButtonProps) {
  const { busy, run } = useBusy();
  return (
    <button
      type={type}
      class={`button ${kind}`}
      disabled={disabled || busy}
      title={title}
      aria-pressed={pressed}
      aria-busy={busy || undefined}
      onClick={onClick === undefined ? undefined : (event: MouseEvent) => run(() => onClick(event))}
    >
      {icon !== undefined && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

export interface IconButtonProps {
  readonly icon: IconName;
  /** Accessible name and tooltip. */
  readonly label: string;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  readonly onClick: (event: MouseEvent) => void | Promise<void>;
}

export function IconButton({ icon, label, disabled, pressed, onClick }: IconButtonProps) {
  const { busy, run } = useBusy();
  return (
    <button
      type="button"
      class="button quiet icon-only"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      disabled={disabled || busy}
      onClick={(event: MouseEvent) => run(() => onClick(event))}
    >
      <Icon name={icon} />
    </button>
  );
}

function useBusy() {
  const [busy, setBusy] = useState(false);
  const run = async (work: () => void | Promise<void>) => {
    try {
      const running = work();
      if (running === undefined) return;
      setBusy(true);
      await running;
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  };
  return { busy, run };
}
