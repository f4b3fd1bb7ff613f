import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * Calls `onClick` for a click on the backdrop of a modal dialog. Both press and release must be outside: a selection of text that
 * ends there is no such click.
 */
export function useBackdropClick(
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
