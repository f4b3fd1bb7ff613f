import { useEffect, useState } from "preact/hooks";
import { Field, typed } from "../../ui/field.tsx";
import { unknownNames } from "./known-names.ts";
import type { Refusal } from "./refusal.ts";

export interface FilterBoxProps {
  readonly filter: string;
  readonly refusal: Refusal | undefined;
  readonly onApply: (filter: string) => void;
}

/** Long enough to write on after a comma. */
const pauseMs = 900;

/** What is read where no filter is named. */
export const usualFilter = "info";

/** The server's own filter, applied by Enter or after a pause. */
export function FilterBox({ filter, refusal, onApply }: FilterBoxProps) {
  const [text, setText] = useState(filter);
  useEffect(() => setText(filter), [filter]);
  useEffect(() => {
    // An empty box is one that is being written anew.
    if (text === filter || text.trim() === "") return;
    const timer = setTimeout(() => onApply(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text, filter]);
  const apply = (event: Event) => {
    event.preventDefault();
    const wanted = text.trim() === "" ? usualFilter : text;
    setText(wanted);
    onApply(wanted);
  };
  const changed = text !== filter;
  // Half of a word is not known yet either.
  const hint = changed || refusal !== undefined ? undefined : unknownNames(filter);
  return (
    <form class="logs-filter" onSubmit={apply}>
      <Field label="Filter" hint={hint} error={changed ? undefined : refusal?.why}>
        <input
          type="text"
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          placeholder="info,db=trace"
          title="Levels and targets as in RUST_LOG: info,db=trace"
          onInput={(event: Event) => setText(typed(event))}
        />
      </Field>
      {!changed && refusal !== undefined && (
        <p class="logs-filter-place">
          <code>
            {refusal.before}
            <mark>{refusal.wrong === "" ? " " : refusal.wrong}</mark>
            {refusal.after}
          </code>
        </p>
      )}
    </form>
  );
}
