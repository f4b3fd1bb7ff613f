import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";
import { indexFor } from "./tabs.tsx";
import { showError } from "./toasts.tsx";

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Tooltip, such as why it is disabled. */
  readonly title?: string | undefined;
  /** An error is shown as a toast. */
  readonly onSelect: () => unknown;
}

interface MoreMenuProps {
  /** Accessible name that says whose actions these are: "Actions for site". */
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/**
 * "⋯" button with the less common actions of a row. The focus returns to the button before an action starts, so that its dialog can
 * return it there too.
 */
export function MoreMenu({ label, items }: MoreMenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  /** Whether it was open when the mouse went down on the button: the browser closes it before the click arrives. */
  const wasOpen = useRef(false);
  return (
    <span class="more-menu">
      <button
        ref={button}
        type="button"
        class="button quiet icon-only"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={id}
        aria-label={label}
        title={label}
        onPointerDown={() => {
          wasOpen.current = open;
        }}
        onClick={({ detail }: MouseEvent) => setOpen(detail === 0 || !wasOpen.current)}
      >
        <span class="dots" aria-hidden="true" />
      </button>
      {open && (
        <MenuList
          id={id}
          label={label}
          items={items}
          position={(list) => {
            if (button.current !== null) positionBelow(list, button.current);
          }}
          returnFocus={() => button.current?.focus()}
          onClosed={() => setOpen(false)}
        />
      )}
    </span>
  );
}

export interface ContextMenuProps extends MoreMenuProps {
  /** Where the menu was asked for, in the window. */
  readonly at: { readonly x: number; readonly y: number };
  readonly onClosed: () => void;
}

/** Menu at the mouse. The focus returns to where it was before an action starts. */
export function ContextMenu({ label, items, at, onClosed }: ContextMenuProps) {
  const id = useId();
  const [before] = useState(() => document.activeElement);
  return (
    <MenuList
      id={id}
      label={label}
      items={items}
      position={(list) => positionAt(list, at)}
      returnFocus={() => {
        if (before instanceof HTMLElement) before.focus();
      }}
      onClosed={onClosed}
    />
  );
}

interface MenuListProps extends MoreMenuProps {
  readonly id: string;
  readonly position: (list: HTMLElement) => void;
  readonly returnFocus: () => void;
  readonly onClosed: () => void;
}

/** Open menu. The arrow keys, Home, End and letters move in it; Escape and a click elsewhere close it. */
function MenuList({ id, label, items, position, returnFocus, onClosed }: MenuListProps) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (list.current === null) return;
    list.current.showPopover();
    position(list.current);
    entriesOf(list.current)[0]?.focus();
  }, []);
  const close = () => {
    list.current?.hidePopover();
    returnFocus();
  };
  const select = ({ onSelect }: MenuItem) => {
    close();
    Promise.try(onSelect).catch(showError);
  };
  const onKey = (event: KeyboardEvent) => {
    if (list.current === null) return;
    const entries = entriesOf(list.current);
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const next = indexFor(event.key, at, entries.length) ?? indexOfLetter(event.key, at, entries);
    if (event.key === "Tab") close();
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    entries[next]?.focus();
  };
  return (
    <div
      ref={list}
      id={id}
      popover="auto"
      role="menu"
      aria-label={label}
      class="popup"
      onKeyDown={onKey}
      onToggle={(event: { readonly newState: string }) => {
        // The event comes after the menu was hidden. By then another menu may have replaced this one.
        if (event.newState === "closed" && list.current !== null) onClosed();
      }}
    >
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          class={item.danger ? "popup-item danger" : "popup-item"}
          disabled={item.disabled}
          title={item.title}
          tabIndex={-1}
          onClick={() => select(item)}
        >
          {item.icon !== undefined && <Icon name={item.icon} />}
          <span>{item.label}</span>
        </button>
      ))}
    </div>
  );
}

function entriesOf(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>("[role=menuitem]:enabled")];
}

/** Next entry that starts with the typed letter. */
function indexOfLetter(key: string, at: number, entries: readonly HTMLElement[]): number | undefined {
  if (key.length !== 1 || key === " ") return undefined;
  const order = entries.map((_, step) => (at + 1 + step) % entries.length);
  return order.find((index) =>
    entries[index]?.textContent?.trim().toLowerCase().startsWith(key.toLowerCase()),
  );
}

/** Places the list below its button, or above it where there is no room, within the window. */
function positionBelow(list: HTMLElement, button: HTMLElement): void {
  const gap = 4;
  const anchor = button.getBoundingClientRect();
  const { width, height } = list.getBoundingClientRect();
  const left = Math.max(gap, Math.min(anchor.right - width, innerWidth - width - gap));
  const fits = anchor.bottom + gap + height <= innerHeight;
  list.style.left = `${left}px`;
  list.style.top = `${fits ? anchor.bottom + gap : Math.max(gap, anchor.top - height - gap)}px`;
}

/** Places the list with a corner at a point, within the window. */
function positionAt(list: HTMLElement, { x, y }: ContextMenuProps["at"]): void {
  const gap = 4;
  const { width, height } = list.getBoundingClientRect();
  list.style.left = `${Math.max(gap, Math.min(x, innerWidth - width - gap))}px`;
  list.style.top = `${y + height + gap <= innerHeight ? y : Math.max(gap, y - height)}px`;
}
