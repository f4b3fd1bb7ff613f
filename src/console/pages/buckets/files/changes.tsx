import { signal } from "@preact/signals";
import type { FailedPath, ManyDone, ManyOptions } from "../../../../client/index.ts";
import { listed, number } from "../../../format.ts";
import { onSessionEnd } from "../../../session/session-state.ts";
import { registerUnsavedWork } from "../../../session/unsaved-work.ts";
import { t } from "../../../text/text.ts";
import { Button } from "../../../ui/button.tsx";
import { explain } from "../../../ui/problem.tsx";
import { showError, toast, toastWithAction } from "../../../ui/toasts.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { uploads } from "../uploads/queue.ts";

/** What takes less is not shown, so that nothing flashes up. */
const slowMs = 400;
/** Failures that a message names. */
const maxNamed = 5;

/** Change is a change of many files and folders. */
export interface Change {
  /** What is done, for the corner. */
  readonly title: string;
  readonly total: number;
  readonly run: (options: ManyOptions) => Promise<ManyDone>;
  /** Says that all was done. */
  readonly doneText: string;
  /** Undoes what was done; undefined if that cannot be undone. */
  readonly undo: (done: ManyDone) => (() => Promise<void>) | undefined;
}

interface RunningChange extends Pick<Change, "title" | "total"> {
  readonly handled: number;
  readonly abort: AbortController;
}

/** Slow changes, which go on in the corner of every page. */
const inCorner = signal<ReadonlyMap<number, RunningChange>>(new Map());
const running = new Set<AbortController>();
let next = 1;

/**
 * runChange runs a change, which shows its progress in the corner once it is slow, and then says what was done, with Undo. The result is
 * the sentences about what failed, if the change ended before it was slow; undefined if it goes on in the corner.
 */
export async function runChange(change: Change): Promise<readonly string[] | undefined> {
  const { title, total, run } = change;
  const [id, abort] = [next++, new AbortController()];
  let [handled, isSlow] = [0, false];
  const show = () => {
    inCorner.value = new Map(inCorner.value).set(id, { title, total, handled, abort });
  };
  running.add(abort);
  const finished = run({
    signal: abort.signal,
    onProgress: (count) => {
      handled = count;
      if (isSlow) show();
    },
  }).finally(() => {
    running.delete(abort);
    const others = new Map(inCorner.value);
    others.delete(id);
    inCorner.value = others;
    // The list of files is read again, as after uploads.
    uploads.arrived.value += 1;
  });
  const timer = Promise.withResolvers<undefined>();
  setTimeout(() => timer.resolve(undefined), slowMs);
  const done = await Promise.race([finished, timer.promise]);
  if (done !== undefined) {
    if (done.done > 0) sayDone(change, done);
    return failuresOf(done);
  }
  isSlow = true;
  show();
  finished.then((done) => {
    if (abort.signal.aborted || done.done > 0) sayDone(change, done);
    const failures = failuresOf(done);
    if (failures.length > 0) toast(t.files.notChanged(listed(failures.slice(0, maxNamed))), "problem");
  }, showError);
  return undefined;
}

function sayDone({ total, doneText, undo }: Change, done: ManyDone): void {
  const text =
    done.done === total ? doneText : t.files.partlyDone(number(done.done), number(total - done.done));
  const run = done.done === 0 ? undefined : undo(done);
  if (run === undefined) toast(text);
  else toastWithAction(text, { label: t.files.undo, run });
}

function failuresOf({ failed, error }: ManyDone): string[] {
  const sentences = failed.map(failureOf);
  return error === undefined ? sentences : [...sentences, explain(error)];
}

/** What the server says of a lock names the path already. */
function failureOf({ path, why }: FailedPath): string {
  return visibleText(why.startsWith(`${path} `) ? why : `${path}: ${why}`);
}

/** Changes that are under way, docked in the corner of every page. */
export function ChangePanel() {
  if (inCorner.value.size === 0) return null;
  return (
    <section class="uploads changes" aria-label={t.files.changes}>
      {[...inCorner.value].map(([id, { title, total, handled, abort }]) => (
        <div key={id}>
          <header>
            <h2>{title}</h2>
            <Button disabled={abort.signal.aborted} onClick={() => abort.abort()}>
              {t.frame.cancel}
            </Button>
          </header>
          <div class="uploads-total">
            <progress aria-label={title} max={total} value={handled} />
            <span class="muted">{t.files.progressOf(number(handled), number(total))}</span>
          </div>
        </div>
      ))}
    </section>
  );
}

onSessionEnd(() => {
  for (const abort of running) abort.abort();
});

registerUnsavedWork(() => (running.size > 0 ? t.files.changesUnderWay : undefined));
