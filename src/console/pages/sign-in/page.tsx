import { useState } from "preact/hooks";
import { ParseError, PermissionDenied } from "../../../client/index.ts";
import { canRemember } from "../../kept-token.ts";
import { signIn } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Check, Field, typed } from "../../ui/field.tsx";
import { explain } from "../../ui/problem.tsx";

type Way = "token" | "password";

/** The first page. */
export function SignInPage({ notice }: { readonly notice: string | undefined }) {
  const [way, setWay] = useState<Way>("token");
  const [name, setName] = useState("");
  const [secret, setSecret] = useState("");
  const [keep, setKeep] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await signIn(way === "token" ? secret.trim() : `${name.trim()}|${secret}`, keep);
    } catch (error) {
      setProblem(inWords(error, way));
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <div class="brand">
          <span class="brand-mark" aria-hidden="true" />
          node-server
        </div>
        <h1>Sign in</h1>
        {notice !== undefined && (
          <p class="notice" role="status">
            {notice}
          </p>
        )}
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
          <Field label="User name">
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
            way === "token" ? "Key and secret with a colon between, as the server showed them." : undefined
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
          label="Remember on this device"
          hint={
            canRemember
              ? "For 30 days. Otherwise you stay signed in as long as this tab is open."
              : "Only over https, or on the machine itself."
          }
          checked={keep}
          disabled={!canRemember}
          onChange={setKeep}
        />
        <Button kind="primary" type="submit" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}

function inWords(error: unknown, way: Way): string {
  if (error instanceof ParseError) return "This is no token. It has the form key:secret.";
  if (!(error instanceof PermissionDenied)) return explain(error);
  if (/expired|not yet valid/i.test(error.message))
    return `${error.message.replace(/^Permission Denied: /, "")}.`;
  return way === "token" ? "The server does not know this token." : "User name or password is wrong.";
}
