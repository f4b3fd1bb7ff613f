import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ParseError, PermissionDenied } from "../../../client/index.ts";
import { Button } from "../../ui/button.tsx";
import { Check, Field, typed } from "../../ui/field.tsx";
import { explain } from "../../ui/problem.tsx";

type Way = "token" | "password";

export interface SignInFormProps {
  /** Signs in, or throws the server's error. */
  readonly onSignIn: (token: string, persistent: boolean) => Promise<void>;
  /** Initial state of "Stay signed in". */
  readonly persistent?: boolean;
  /** Content above the fields. */
  readonly children: ComponentChildren;
  /** Content beside the button. */
  readonly more?: ComponentChildren;
}

/** Form for a token, or for user name and password. Its first field has the focus. */
export function SignInForm({ onSignIn, persistent: first = false, children, more }: SignInFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [way, setWay] = useState<Way>("token");
  const [name, setName] = useState("");
  const [secret, setSecret] = useState("");
  const [persistent, setPersistent] = useState(first);
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  useEffect(() => form.current?.querySelector("input")?.focus(), [way]);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await onSignIn(way === "token" ? secret.trim() : `${name.trim()}|${secret}`, persistent);
    } catch (error) {
      setProblem(signInProblem(error, way));
      setBusy(false);
    }
  };
  return (
    <form ref={form} onSubmit={submit}>
      {children}
      <fieldset class="segments">
        <legend class="unseen">Sign in with</legend>
        <button type="button" aria-pressed={way === "token"} onClick={() => setWay("token")}>
          Token
        </button>
        <button type="button" aria-pressed={way === "password"} onClick={() => setWay("password")}>
          Password
        </button>
      </fieldset>
      {way === "password" && (
        <Field label="User name" hint="For the Root Password that the server printed: root.">
          <input
            type="text"
            name="username"
            autocomplete="username"
            required
            value={name}
            onInput={(event: Event) => setName(typed(event))}
          />
        </Field>
      )}
      <Field
        label={way === "token" ? "Token" : "Password"}
        hint={
          way === "token" ? "Key and secret, separated by a colon, as the server showed them." : undefined
        }
        error={problem}
      >
        <input
          type="password"
          name={way}
          autocomplete={way === "token" ? "off" : "current-password"}
          required
          value={secret}
          onInput={(event: Event) => setSecret(typed(event))}
        />
      </Field>
      <Check
        label="Stay signed in for 30 days"
        hint="Otherwise until you close the browser. Do not tick this on a shared computer."
        checked={persistent}
        onChange={setPersistent}
      />
      <div class="sign-in-actions">
        {more}
        <Button kind="primary" type="submit" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </Button>
      </div>
    </form>
  );
}

function signInProblem(error: unknown, way: Way): string {
  if (error instanceof ParseError)
    return "This is not a token: a token is its key, a colon and its secret, such as AbC123:dEf456.";
  if (!(error instanceof PermissionDenied)) return explain(error);
  if (error.reason === "expired") return "This token has expired. Ask for a new one.";
  if (error.reason === "not_yet_valid") return "This token is not valid yet. Ask when it becomes valid.";
  return way === "token" ? "The server does not know this token." : "User name or password is wrong.";
}
