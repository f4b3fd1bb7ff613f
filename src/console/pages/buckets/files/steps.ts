import { useEffect, useRef, useState } from "preact/hooks";
import { explain } from "../../../ui/problem.tsx";
import { visibleText } from "../../../ui/visible-text.tsx";

/** One of several changes that belong together. */
export interface Change {
  readonly name: string;
  readonly make: (signal: AbortSignal) => Promise<unknown>;
}

export interface Steps {
  readonly running: boolean;
  readonly done: number;
  readonly total: number;
  /** What did not work, in words. */
  readonly failures: readonly string[];
  /** True when all went well. */
  readonly run: (changes: readonly Change[]) => Promise<boolean>;
  /** What is under way ends; what is done stays done. */
  readonly cancel: () => void;
}

/** Changes one after the other, told and cancelled as a whole. */
export function useSteps(): Steps {
  const [state, setState] = useState({
    running: false,
    done: 0,
    total: 0,
    failures: [] as readonly string[],
  });
  const leave = useRef(new AbortController());
  const cancel = () => leave.current.abort();
  useEffect(() => cancel, []);
  const run = async (changes: readonly Change[]) => {
    leave.current = new AbortController();
    const { signal } = leave.current;
    const failures: string[] = [];
    let done = 0;
    const tell = (running: boolean) =>
      setState({ running, done, total: changes.length, failures: [...failures] });
    for (const { name, make } of changes) {
      if (signal.aborted) break;
      tell(true);
      try {
        await make(signal);
        done += 1;
      } catch (error) {
        if (!signal.aborted) failures.push(`${visibleText(name)}: ${explain(error)}`);
      }
    }
    tell(false);
    return done === changes.length;
  };
  return { ...state, run, cancel };
}
