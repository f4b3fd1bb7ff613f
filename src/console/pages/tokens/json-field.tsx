import { useEffect, useState } from "preact/hooks";
import { Field, typed } from "../../ui/field.tsx";

export interface JsonFieldProps<T> {
  readonly label: string;
  readonly hint?: string;
  readonly value: T;
  /** Throws what is wrong. */
  readonly read: (json: unknown) => T;
  readonly onChange: (value: T) => void;
  /** Whether what is typed cannot be used. */
  readonly onProblem: (isWrong: boolean) => void;
  readonly rows?: number;
}

/** A value as JSON to type in. It follows the value, and the value follows it as long as it can be read. */
export function JsonField<T>({ label, hint, value, read, onChange, onProblem, rows = 4 }: JsonFieldProps<T>) {
  const current = JSON.stringify(value);
  const [draft, setDraft] = useState({
    text: pretty(value),
    of: current,
    problem: undefined as string | undefined,
  });
  const changedElsewhere = draft.of !== current;
  const shown = changedElsewhere ? { text: pretty(value), problem: undefined } : draft;
  useEffect(() => {
    if (!changedElsewhere) return;
    setDraft({ text: pretty(value), of: current, problem: undefined });
    onProblem(false);
  }, [current]);
  const take = (text: string) => {
    try {
      const next = read(parse(text));
      setDraft({ text, of: JSON.stringify(next), problem: undefined });
      onProblem(false);
      onChange(next);
    } catch (error) {
      setDraft({ text, of: current, problem: error instanceof Error ? error.message : String(error) });
      onProblem(true);
    }
  };
  return (
    <Field label={label} hint={hint} error={shown.problem}>
      <textarea
        rows={rows}
        spellcheck={false}
        value={shown.text}
        onInput={(event: Event) => take(typed(event))}
      />
    </Field>
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
