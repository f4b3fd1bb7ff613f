import type { Position } from "../../editor/props.ts";
import { plural } from "../../format.ts";
import { Problem } from "../../ui/problem.tsx";
import type { Checked } from "./check.ts";
import type { Finding } from "./problems.ts";

export interface ProblemListProps {
  readonly checked: Checked;
  /** The person wanted to save this text, which was refused. */
  readonly isRefused: boolean;
  readonly onGoTo: (place: Position) => void;
}

/** What is wrong with the text, and what is right but probably not meant, in sentences. */
export function ProblemList({ checked, isRefused, onGoTo }: ProblemListProps) {
  const { checking, isFirst, problems, warnings, error } = checked;
  const isClean = error === undefined && problems.length === 0 && warnings.length === 0;
  return (
    <section class="config-check" aria-label="Check" aria-busy={checking}>
      {error !== undefined && <Problem error={error} />}
      <div aria-live="polite">
        {isRefused && problems.length > 0 && (
          <p class="fault">
            <strong>Not saved: the text has problems. Correct them and save again.</strong>
          </p>
        )}
        {isClean && (
          <p class="muted">{isFirst ? "Checking…" : "The server finds nothing wrong with this text."}</p>
        )}
        <Sentences findings={problems} class="fault" onGoTo={onGoTo} />
        <Warnings warnings={warnings} onGoTo={onGoTo} />
      </div>
    </section>
  );
}

export interface WarningsProps {
  readonly warnings: readonly Finding[];
  /** Without it the places are named, not linked. */
  readonly onGoTo?: ProblemListProps["onGoTo"];
}

/** What the server takes, but has something to say about. */
export function Warnings({ warnings, onGoTo }: WarningsProps) {
  if (warnings.length === 0) return null;
  return (
    <div class="notice config-warnings">
      <div>
        <strong>{plural(warnings.length, "warning")}</strong>
        <Sentences findings={warnings} {...(onGoTo === undefined ? {} : { onGoTo })} />
      </div>
    </div>
  );
}

interface SentencesProps {
  readonly findings: readonly Finding[];
  readonly class?: string;
  readonly onGoTo?: ProblemListProps["onGoTo"];
}

function Sentences({ findings, class: look, onGoTo }: SentencesProps) {
  return findings.map(({ message, line, column }) => (
    <p key={`${line} ${column} ${message}`} class={look}>
      {message}{" "}
      {line !== undefined &&
        column !== undefined &&
        (onGoTo === undefined ? (
          `(line ${line}, column ${column})`
        ) : (
          <button type="button" class="config-place" onClick={() => onGoTo({ line, column })}>
            Go to line {line}, column {column}
          </button>
        ))}
    </p>
  ));
}
