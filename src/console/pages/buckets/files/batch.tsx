import { useEffect, useRef, useState } from "preact/hooks";
import { FileError } from "../../../../client/index.ts";
import { number } from "../../../format.ts";
import { t } from "../../../text/text.ts";
import { Icon } from "../../../ui/icons.tsx";
import { explain } from "../../../ui/problem.tsx";
import { visibleText } from "../../../ui/visible-text.ts";

/** One change of a batch. */
interface BatchItem {
  readonly name: string;
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

interface Batch {
  readonly running: boolean;
  readonly done: number;
  readonly total: number;
  /** Sentences about failed items. */
  readonly failures: readonly string[];
  /** Resolves to true when all items succeeded. */
  readonly run: (items: readonly BatchItem[]) => Promise<boolean>;
  /** Aborts the current item and skips the rest. Finished items are not undone. */
  readonly cancel: () => void;
}

/** Runs changes one after the other, with one progress and one cancel. */
export function useBatch(): Batch {
  const [state, setState] = useState({
    running: false,
    done: 0,
    total: 0,
    failures: [] as readonly string[],
  });
  const abort = useRef(new AbortController());
  const cancel = () => abort.current.abort();
  useEffect(() => cancel, []);
  const run = async (items: readonly BatchItem[]) => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const failures: string[] = [];
    let done = 0;
    const publish = ({ running }: { readonly running: boolean }) =>
      setState({ running, done, total: items.length, failures: [...failures] });
    for (const { name, run: runItem } of items) {
      if (signal.aborted) break;
      publish({ running: true });
      try {
        await runItem(signal);
        done += 1;
      } catch (error) {
        if (signal.aborted) continue;
        // Errors about files name the path themselves.
        failures.push(
          error instanceof FileError
            ? visibleText(explain(error))
            : `${visibleText(name)}: ${explain(error)}`,
        );
      }
    }
    publish({ running: false });
    return done === items.length;
  };
  return { ...state, run, cancel };
}

const maxListed = 10;

/** Progress of a batch, and its failures. */
export function BatchProgress({ batch: { running, done, total, failures } }: { readonly batch: Batch }) {
  return (
    <>
      {running && total > 1 && (
        <div role="status">
          <progress aria-label={t.files.progress} max={total} value={done + failures.length} />
          {t.files.progressOf(number(done + failures.length), number(total))}
        </div>
      )}
      {failures.length > 0 && (
        <div class="problem" role="alert">
          <Icon name="warning" />
          <ul class="files-names">
            {failures.slice(0, maxListed).map((failure) => (
              <li key={failure}>{failure}</li>
            ))}
            {failures.length > maxListed && <li>{t.files.andMore(failures.length - maxListed)}</li>}
          </ul>
        </div>
      )}
    </>
  );
}
