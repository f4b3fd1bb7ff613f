import { useEffect, useRef } from "preact/hooks";

export interface Keys {
  readonly toggle: () => void;
  readonly toStart: () => void;
  readonly toEnd: () => void;
  readonly move: (by: -1 | 1) => void;
  readonly open: () => void;
  readonly close: () => void;
}

/** What has a use of its own for the keys. */
const busy = "input, textarea, select, button, a, dialog, .logs-details";

/** The keys of the list, wherever on the page one is, unless something else needs them. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, altKey, metaKey } = event;
      if (ctrlKey || altKey || metaKey || !(target instanceof Element)) return;
      if (key === "Escape" && target.closest("dialog, input") === null) return latest.current.close();
      const act = target.closest(busy) === null ? actionOf(key, latest.current) : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function actionOf(key: string, keys: Keys): (() => void) | undefined {
  switch (key) {
    case " ":
      return keys.toggle;
    case "Home":
      return keys.toStart;
    case "End":
      return keys.toEnd;
    case "ArrowUp":
      return () => keys.move(-1);
    case "ArrowDown":
      return () => keys.move(1);
    case "Enter":
      return keys.open;
    default:
      return undefined;
  }
}
