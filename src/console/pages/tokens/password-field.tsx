import { useState } from "preact/hooks";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Check, Field, typed } from "../../ui/field.tsx";
import { newPassword, passwordProblem } from "./sign-in-words.ts";

export interface PasswordFieldProps {
  readonly label: string;
  readonly password: string;
  readonly onChange: (password: string, isGenerated: boolean) => void;
}

/** A password to set: hidden while it is typed, shown when it was made up here or on wish. */
export function PasswordField({ label, password, onChange }: PasswordFieldProps) {
  const [shown, setShown] = useState(false);
  const input = {
    autocomplete: "new-password",
    spellcheck: false,
    value: password,
    onInput: (event: Event) => onChange(typed(event), false),
  } as const;
  return (
    <>
      <Field label={label} hint="6 characters or more." error={passwordProblem(password)}>
        {shown ? <input type="text" {...input} /> : <input type="password" {...input} />}
      </Field>
      <div class="row">
        <Button
          onClick={() => {
            onChange(newPassword(), true);
            setShown(true);
          }}
        >
          Generate
        </Button>
        {password !== "" && <CopyButton text={password} label="Copy the password" />}
        <Check label="Show" checked={shown} onChange={setShown} />
      </div>
    </>
  );
}
