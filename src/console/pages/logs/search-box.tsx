import { IconButton } from "../../ui/button.tsx";
import { Check, Field, typed } from "../../ui/field.tsx";

export interface SearchBoxProps {
  readonly text: string;
  readonly only: boolean;
  readonly found: number;
  /** Which of those found is the current one, from 1; 0 for none. */
  readonly at: number;
  readonly onText: (text: string) => void;
  readonly onOnly: (only: boolean) => void;
  readonly onStep: (by: -1 | 1) => void;
}

/** A text within what is shown. */
export function SearchBox({ text, only, found, at, onText, onOnly, onStep }: SearchBoxProps) {
  return (
    <search class="logs-search">
      <Field label="Search">
        <input
          type="search"
          value={text}
          spellcheck={false}
          autocomplete="off"
          placeholder="Text in what is shown"
          onInput={(event: Event) => onText(typed(event))}
          onKeyDown={(event: KeyboardEvent) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            onStep(event.shiftKey ? -1 : 1);
          }}
        />
      </Field>
      {text !== "" && (
        <div class="logs-search-steps">
          <IconButton icon="up" label="Previous match" disabled={found === 0} onClick={() => onStep(-1)} />
          <IconButton icon="down" label="Next match" disabled={found === 0} onClick={() => onStep(1)} />
          <output aria-label="Matches">{inWords(found, at)}</output>
          <Check label="Only matches" checked={only} onChange={onOnly} />
        </div>
      )}
    </search>
  );
}

function inWords(found: number, at: number): string {
  const all = found.toLocaleString("en");
  if (at > 0) return `${at.toLocaleString("en")} of ${all}`;
  return found === 1 ? "1 match" : `${all} matches`;
}
