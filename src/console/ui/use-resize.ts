import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/** Calls `resized` when the size of the element becomes known or changes. The function of the first rendering is kept. */
export function useResize(element: RefObject<HTMLElement | null>, resized: () => void): void {
  useEffect(() => {
    const observer = new ResizeObserver(resized);
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
}
