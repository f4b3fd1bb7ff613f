import { useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, Field, typed } from "../../ui/field.tsx";
import { generatePassword, passwordProblem } from "./credential-rules.ts";
import { changePassword, displayName } from "./token-actions.ts";

export interface PasswordFieldProps {
  readonly label: string;
  readonly password: string;
  readonly onChange: (password: string, options: { readonly isGenerated: boolean }) => void;
}

/** Field for a new password. It is hidden while typed, and shown when generated or if requested. */
export function PasswordField({ label, password, onChange }: PasswordFieldProps) {
  const [shown, setShown] = useState(false);
  const input = {
    autocomplete: "new-password",
    spellcheck: false,
    value: password,
    onInput: (event: Event) => onChange(typed(event), { isGenerated: false }),
  } as const;
  return (
    <>
      <Field label={label} hint={t.tokens.passwordHint} error={passwordProblem(password)}>
        {shown ? <input type="text" {...input} /> : <input type="password" {...input} />}
      </Field>
      <div class="row">
        <Button
          onClick={() => {
            onChange(generatePassword(), { isGenerated: true });
            setShown(true);
          }}
        >
          {t.tokens.generate}
        </Button>
        {password !== "" && <CopyButton text={password} label={t.tokens.copyPassword} />}
        <Check label={t.tokens.show} checked={shown} onChange={setShown} />
      </div>
    </>
  );
}

/** Dialog that changes the password of a token with a user name. */
export function PasswordDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const session = useSession();
  const [password, setPassword] = useState("");
  const isOwn = token.token_key === session.me.token_key;
  const set = async () => {
    await changePassword(session, token, password);
    onClose();
  };
  return (
    <Dialog title={t.tokens.changePasswordOf(displayName(token))} onClose={onClose}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <p>
          {t.tokens.oldPasswordStops}
          {isOwn && ` ${t.tokens.ownPassword}`} {t.tokens.secretStays}
        </p>
        <PasswordField label={t.tokens.newPassword} password={password} onChange={setPassword} />
        <footer>
          <Button onClick={onClose}>{t.frame.cancel}</Button>
          <Button
            kind="primary"
            type="submit"
            disabled={password === "" || passwordProblem(password) !== undefined}
            onClick={set}
          >
            {t.tokens.changePassword}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
