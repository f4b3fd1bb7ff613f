import { Brand } from "../../brand.tsx";
import { askToSignOut } from "../../menu.tsx";
import { discardLocked, type Session, signedIn, signIn, signInAgain } from "../../session.ts";
import { LanguagePicker } from "../../text/language-picker.tsx";
import { t } from "../../text/text.ts";
import { isTokenPersistent } from "../../token-storage.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { confirmLeaving } from "../../unsaved-work.ts";
import { SignInForm } from "./form.tsx";

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
          onSignIn={(token, persistent) => signInAgain(session, token, persistent)}
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
