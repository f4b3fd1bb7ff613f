import { useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { PasswordField } from "./password-field.tsx";
import { passwordProblem } from "./sign-in-words.ts";
import { changePassword, nameOf } from "./token-acts.ts";

/** Another password for a token that has a user name. */
export function PasswordDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const session = useSession();
  const [password, setPassword] = useState("");
  const isOwn = token.token_key === session.me.token_key;
  const set = async () => {
    await changePassword(session, token, password);
    onClose();
  };
  return (
    <Dialog title={`Change the password of ${nameOf(token)}`} onClose={onClose}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        <p>
          Any old password ends at once, for everybody who signed in with it.
          {isOwn && " This is the token that you are signed in with; in this tab you go on with the new one."}{" "}
          The secret stays.
        </p>
        <PasswordField label="New password" password={password} onChange={setPassword} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            disabled={password === "" || passwordProblem(password) !== undefined}
            onClick={set}
          >
            Change the password
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
