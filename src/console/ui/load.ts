import { useCallback, useEffect, useState } from "preact/hooks";
import { untilReachable } from "../connection.ts";

export interface LoadState<T> {
  readonly value: T | undefined;
  readonly error: unknown;
  readonly loading: boolean;
  readonly reload: () => void;
}

/**
 * Loads a value, again whenever `inputs` change. Results of earlier loads are dropped. While the server is unreachable it stays in
 * the state `loading`, and continues when the server is back.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): LoadState<T> {
  const [round, setRound] = useState(0);
  const [outcome, setOutcome] = useState<{ value?: T; error?: unknown; loading: boolean }>({ loading: true });
  useEffect(() => {
    const abort = new AbortController();
    setOutcome((before) => ({ ...before, loading: true }));
    untilReachable(() => load(abort.signal), abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setOutcome({ value, loading: false });
      },
      (error) => {
        if (!abort.signal.aborted) setOutcome({ error, loading: false });
      },
    );
    return () => abort.abort();
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  return { value: outcome.value, error: outcome.error, loading: outcome.loading, reload };
}
