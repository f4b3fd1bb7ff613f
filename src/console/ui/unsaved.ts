import { useEffect, useRef } from "preact/hooks";
import { guardLeaving } from "../route.ts";
import { mayBeUnfinished } from "../unfinished.ts";
import { confirm } from "./dialog.tsx";

/** What forms on the page hold that is not saved, in words. */
const unsaved = new Set<string>();

mayBeUnfinished(() => (unsaved.size === 0 ? undefined : [...unsaved].join(", ")));

/**
 * Asks before a form that holds something is left, by whichever link or key. `what` names it, such as "the new token is not
 * created". Call the answer when the form has been saved or sent: it may be left then.
 */
export function useUnsaved(isDirty: boolean, what: string): () => void {
  const released = useRef(false);
  const dirty = useRef(isDirty);
  // Saved content is drawn again before the form is gone, and is still not what it began with.
  if (!isDirty) released.current = false;
  dirty.current = isDirty && !released.current;
  useEffect(() => {
    if (!isDirty) return;
    unsaved.add(what);
    return () => {
      unsaved.delete(what);
    };
  }, [isDirty, what]);
  useEffect(
    () =>
      guardLeaving(() =>
        dirty.current
          ? confirm({
              title: "Leave without saving?",
              text: `You would lose what you entered: ${what}.`,
              action: "Leave",
              danger: true,
            })
          : undefined,
      ),
    [],
  );
  return () => {
    released.current = true;
    dirty.current = false;
    unsaved.delete(what);
  };
}
