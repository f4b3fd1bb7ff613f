import { t } from "../../text/text.ts";
import { Field, typed } from "../../ui/field.tsx";
import { nameProblem } from "./credential-rules.ts";

export interface NameFieldProps {
  readonly name: string;
  readonly onChange: (name: string) => void;
}

/** Field for the name of a token, which is a label for people. */
export function NameField({ name, onChange }: NameFieldProps) {
  return (
    <Field label={t.frame.name} hint={t.tokens.nameHint} error={nameProblem(name)}>
      <input type="text" autocomplete="off" value={name} onInput={(event: Event) => onChange(typed(event))} />
    </Field>
  );
}
