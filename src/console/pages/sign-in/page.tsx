import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ParseError, PermissionDenied } from "../../../client/index.ts";
import { Brand } from "../../brand.tsx";
import { time } from "../../format.ts";
import { askToSignOut } from "../../menu.tsx";
import { discardLocked, type Session, signedIn, signIn, signInAgain } from "../../session/session.ts";
import { isTokenPersistent } from "../../session/token-storage.ts";
import { confirmLeaving } from "../../session/unsaved-work.ts";
import { LanguagePicker } from "../../text/language-picker.tsx";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, Field, FieldError, Form, Segments, Submit, typed } from "../../ui/form.tsx";
import { explain } from "../../ui/problem.tsx";

/** Page shown while nobody is signed in. */
export function SignInPage({ notice }: { readonly notice: string | undefined }) {
  return (
    <main class="sign-in">
      <SignInForm onSignIn={signIn}>
        <div class="brand">
          <Brand />
        </div>
        <h1>{t.frame.signIn}</h1>
        {notice !== undefined && (
          <p class="notice" role="status">
            {notice}
          </p>
        )}
      </SignInForm>
      <LanguagePicker />
    </main>
  );
}

/** Dialog that asks for another token when the current one has ended. The page behind it keeps its state. */
export function SignInAgain() {
  const now = signedIn.value;
  const why = now.state === "signed-in" ? now.session.ended.value : undefined;
  return now.state === "signed-in" && why !== undefined ? (
    <SignInDialog session={now.session} why={why} />
  ) : null;
}

function SignInDialog({ session, why }: { readonly session: Session; readonly why: string }) {
  const isLocked = session.isLocked.value;
  return (
    <Dialog title={t.frame.signInAgain} onClose={undefined}>
      <div class="sign-in-again">
        <SignInForm
          persistent={!isLocked && isTokenPersistent()}
          username={session.username}
          onSignIn={(token, persistent, code) => signInAgain(session, token, persistent, code)}
          more={
            isLocked ? (
              <Button onClick={discard}>{t.frame.discard}</Button>
            ) : (
              <Button onClick={askToSignOut}>{t.frame.signOut}</Button>
            )
          }
        >
          <p class="notice" role="status">
            {why}
          </p>
          <p>{isLocked ? t.frame.lockedText : t.frame.workKept}</p>
        </SignInForm>
      </div>
    </Dialog>
  );
}

async function discard(): Promise<void> {
  if (await confirmLeaving(t.frame.discardQuestion, t.frame.discard)) discardLocked();
}

type Way = "token" | "password";

interface SignInFormProps {
  /** Signs in, or throws the server's error. */
  readonly onSignIn: (token: string, persistent: boolean, code?: string) => Promise<void>;
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
function SignInForm({ onSignIn, persistent: first = false, username, children, more }: SignInFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [way, setWay] = useState<Way>(username === undefined ? "token" : "password");
  const [name, setName] = useState(username ?? "");
  const [secret, setSecret] = useState("");
  const [persistent, setPersistent] = useState(first);
  /** A code of an app; undefined until the server asks for one. */
  const [code, setCode] = useState<string>();
  // Before the next paint: later it would take the focus from the field that the person has gone to.
  useLayoutEffect(() => {
    const inputs = [...(form.current?.querySelectorAll("input") ?? [])];
    inputs.find(({ value }) => value === "")?.focus();
  }, [way, code === undefined]);
  const choose = (chosen: Way) => {
    if (chosen === way) return;
    // A token in the field of the password would be taken for one.
    setSecret("");
    setCode(undefined);
    setWay(chosen);
  };
  const submit = async () => {
    try {
      await onSignIn(way === "token" ? secret.trim() : `${name.trim()}|${secret}`, persistent, code?.trim());
    } catch (error) {
      if (error instanceof PermissionDenied && error.reason === "code_missing") return setCode("");
      if (error instanceof PermissionDenied && isAboutCode(error))
        throw new FieldError("code", codeProblem(error));
      throw new FieldError(way, signInProblem(error, way));
    }
  };
  return (
    // The key drops a problem of the other way.
    <Form key={way} class="" formRef={form} onSubmit={submit}>
      {children}
      <Segments
        label={t.frame.signInWith}
        options={[
          { value: "token", title: t.frame.token },
          { value: "password", title: t.frame.password },
        ]}
        value={way}
        onChange={choose}
      />
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
        field={way}
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
      {code !== undefined && (
        <Field label={t.frame.code} hint={t.frame.codeHint} field="code">
          <input
            type="text"
            name="code"
            autocomplete="one-time-code"
            required
            value={code}
            onInput={(event: Event) => setCode(typed(event))}
          />
        </Field>
      )}
      <Check
        label={t.frame.staySignedIn}
        hint={t.frame.staySignedInHint}
        checked={persistent}
        onChange={setPersistent}
      />
      <div class="sign-in-actions">
        {more}
        <Submit busyText={t.frame.signingIn}>{t.frame.signIn}</Submit>
      </div>
    </Form>
  );
}

function isAboutCode({ reason }: PermissionDenied): boolean {
  return reason === "wrong_code" || reason === "too_many_codes";
}

function codeProblem({ reason, data }: PermissionDenied): string {
  return reason === "wrong_code" ? t.frame.wrongCode : t.frame.tooManyCodes(time(Number(data.retry_at)));
}

function signInProblem(error: unknown, way: Way): string {
  if (error instanceof ParseError) return t.frame.notAToken;
  if (!(error instanceof PermissionDenied)) return explain(error);
  if (error.reason === "expired") return t.frame.expiredToken;
  if (error.reason === "not_yet_valid") return t.frame.earlyToken;
  return way === "token" ? t.frame.unknownToken : t.frame.wrongPassword;
}
