import { useEffect, useState } from "preact/hooks";
import { t } from "../../text/text.ts";
import { Field, typed } from "../../ui/field.tsx";

export interface JsonFieldProps<T> {
  readonly label: string;
  readonly hint?: string;
  readonly value: T;
  /** Converts parsed JSON to a value. Throws an error with a sentence when it is invalid. */
  readonly read: (json: unknown) => T;
  readonly onChange: (value: T) => void;
  /** Called with whether the typed text is invalid. */
  readonly onProblem: (isWrong: boolean) => void;
  readonly rows?: number;
}

/** Text field for a value as JSON. Valid input changes the value; a changed value replaces the text. */
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
    throw new Error(t.tokens.badJson(error instanceof Error ? error.message : String(error)));
  }
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
