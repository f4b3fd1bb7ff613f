import { useEffect, useRef } from "preact/hooks";
import { listed } from "../format.ts";
import { guardLeaving } from "../route.ts";
import { t } from "../text/text.ts";
import { confirm } from "../ui/dialog.tsx";

/** Each describes work that signing out would lose, or returns undefined. Pages register theirs when they are first loaded. */
const sources: (() => string | undefined)[] = [];
/** Each says whether a reload would lose something too small to ask about. */
const reloadLossChecks: (() => boolean)[] = [];

/** Registers a source of unsaved work. `what` returns a noun for the person, such as "uploads in progress". */
export function registerUnsavedWork(what: () => string | undefined): void {
  sources.push(what);
}

/** Registers something that must survive an automatic reload but needs no question when the person leaves. */
export function registerReloadLoss(wouldLose: () => boolean): void {
  reloadLossChecks.push(wouldLose);
}

/** Whether a reload would lose nothing. */
export function isSafeToReload(): boolean {
  return unsavedWork().length === 0 && !reloadLossChecks.some((wouldLose) => wouldLose());
}

function unsavedWork(): string[] {
  return sources.map((what) => what()).filter((work) => work !== undefined);
}

/** Resolves to true when there is nothing to lose or the person agrees to lose it. */
export async function confirmLeaving(title: string, action: string): Promise<boolean> {
  const lost = unsavedWork();
  const text = t.frame.losesWork(listed(lost));
  return lost.length === 0 || confirm({ title, text, action, danger: true });
}

// Makes the browser ask before the tab is closed.
addEventListener("beforeunload", (event) => {
  if (unsavedWork().length > 0) event.preventDefault();
});

/** Descriptions of forms on the page that hold unsaved input. */
const unsaved = new Set<string>();

registerUnsavedWork(() => (unsaved.size === 0 ? undefined : listed([...unsaved])));

/**
 * Asks before the person leaves a form with unsaved input, by whichever link or key. `what` names it, such as "the new token". Call
 * the returned function when the form has been saved or sent.
 */
export function useUnsaved(isDirty: boolean, what: string): () => void {
  const released = useRef(false);
  const dirty = useRef(isDirty);
  // After saving, the form renders once more and still differs from its initial content.
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
              title: t.frame.leaveQuestion,
              text: t.frame.losesInput(what),
              action: t.frame.leave,
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
