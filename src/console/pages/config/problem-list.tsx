import type { Mark, Place } from "../../editor/props.ts";
import { Problem } from "../../ui/problem.tsx";
import type { Checked } from "./check.ts";

export interface ProblemListProps {
  readonly checked: Checked;
  readonly onGoTo: (place: Place) => void;
}

/** What is wrong with the text, in sentences. */
export function ProblemList({ checked: { checking, isFirst, problems, error }, onGoTo }: ProblemListProps) {
  return (
    <section class="config-check" aria-label="Check" aria-busy={checking}>
      {error !== undefined && <Problem error={error} />}
      <div aria-live="polite">
        {error === undefined && problems.length === 0 && (
          <p class="muted">{isFirst ? "Checking…" : "The server finds nothing wrong with this text."}</p>
        )}
        {problems.map((problem) => (
          <Sentence
            key={`${problem.line} ${problem.column} ${problem.message}`}
            {...problem}
            onGoTo={onGoTo}
          />
        ))}
      </div>
    </section>
  );
}

function Sentence({ line, column, message, onGoTo }: Mark & Pick<ProblemListProps, "onGoTo">) {
  return (
    <p class="fault">
      {message}{" "}
      <button type="button" class="config-place" onClick={() => onGoTo({ line, column })}>
        Go to line {line}, column {column}
      </button>
    </p>
  );
}
