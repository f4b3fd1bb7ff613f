import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ParseError, PermissionDenied } from "../../../client/index.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Check, Field, typed } from "../../ui/form.tsx";
import { explain } from "../../ui/problem.tsx";

type Way = "token" | "password";

export interface SignInFormProps {
  /** Signs in, or throws the server's error. */
  readonly onSignIn: (token: string, persistent: boolean) => Promise<void>;
  /** Initial state of "Stay signed in". */
  readonly persistent?: boolean;
  /** User name of a person who has signed in with it before. */
  readonly username?: string | undefined;
  /** Content above the fields. */
  readonly children: ComponentChildren;
  /** Content beside the button. */
  readonly more?: ComponentChildren;
}

/** Form for a token, or for user name and password. Its first empty field has the focus. */
export function SignInForm({
  onSignIn,
  persistent: first = false,
  username,
  children,
  more,
}: SignInFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [way, setWay] = useState<Way>(username === undefined ? "token" : "password");
  const [name, setName] = useState(username ?? "");
  const [secret, setSecret] = useState("");
  const [persistent, setPersistent] = useState(first);
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  // Before the next paint: later it would take the focus from the field that the person has gone to.
  useLayoutEffect(() => {
    const inputs = [...(form.current?.querySelectorAll("input") ?? [])];
    inputs.find(({ value }) => value === "")?.focus();
  }, [way]);
  const choose = (chosen: Way) => {
    if (chosen === way) return;
    // A token in the field of the password would be taken for one.
    setSecret("");
    setProblem(undefined);
    setWay(chosen);
  };
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
        <legend class="unseen">{t.frame.signInWith}</legend>
        <button type="button" aria-pressed={way === "token"} onClick={() => choose("token")}>
          {t.frame.token}
        </button>
        <button type="button" aria-pressed={way === "password"} onClick={() => choose("password")}>
          {t.frame.password}
        </button>
      </fieldset>
      {way === "password" && (
        <Field label={t.frame.userName} hint={t.frame.rootHint}>
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
        label={way === "token" ? t.frame.token : t.frame.password}
        hint={way === "token" ? t.frame.tokenHint : undefined}
        error={problem}
      >
        <input
          type="password"
          name={way}
          autocomplete={way === "token" ? "off" : "current-password"}
          required
          data-initial-focus={username === undefined ? undefined : true}
          value={secret}
          onInput={(event: Event) => setSecret(typed(event))}
        />
      </Field>
      <Check
        label={t.frame.staySignedIn}
        hint={t.frame.staySignedInHint}
        checked={persistent}
        onChange={setPersistent}
      />
      <div class="sign-in-actions">
        {more}
        <Button kind="primary" type="submit" busy={busy}>
          {busy ? t.frame.signingIn : t.frame.signIn}
        </Button>
      </div>
    </form>
  );
}

function signInProblem(error: unknown, way: Way): string {
  if (error instanceof ParseError) return t.frame.notAToken;
  if (!(error instanceof PermissionDenied)) return explain(error);
  if (error.reason === "expired") return t.frame.expiredToken;
  if (error.reason === "not_yet_valid") return t.frame.earlyToken;
  return way === "token" ? t.frame.unknownToken : t.frame.wrongPassword;
}
