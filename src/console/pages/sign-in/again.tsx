import { useEffect, useRef } from "preact/hooks";
import { askToSignOut } from "../../menu.tsx";
import { discardLocked, type Session, signedIn, signInAgain } from "../../session.ts";
import { isTokenPersistent } from "../../token-storage.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { confirmLeaving } from "../../unsaved-work.ts";
import { SignInForm } from "./form.tsx";

/** Asks for another token above the page when the one in use has ended. What the page holds stays. */
export function SignInAgain() {
  const now = signedIn.value;
  const why = now.state === "signed-in" ? now.session.ended.value : undefined;
  return now.state === "signed-in" && why !== undefined ? <Again session={now.session} why={why} /> : null;
}

function Again({ session, why }: { readonly session: Session; readonly why: string }) {
  const place = useRef<HTMLDivElement>(null);
  // The dialog has taken the focus when it was shown, after the form had.
  useEffect(() => place.current?.querySelector("input")?.focus(), []);
  const isLocked = session.isLocked.value;
  return (
    <Dialog title="Sign in again" onClose={undefined}>
      <div ref={place} class="sign-in-again">
        <SignInForm
          persistent={!isLocked && isTokenPersistent()}
          onSignIn={(token, persistent) => signInAgain(session, token, persistent)}
          more={
            isLocked ? (
              <Button onClick={discard}>Discard</Button>
            ) : (
              <Button onClick={askToSignOut}>Sign out</Button>
            )
          }
        >
          <p class="notice" role="status">
            {why}
          </p>
          <p>
            {isLocked
              ? "This tab holds work that is not saved. Sign in with the same token to keep it, or discard it. Signing in with another token discards it too."
              : "Your unsaved work is kept. Sign in to continue where you are."}
          </p>
        </SignInForm>
      </div>
    </Dialog>
  );
}

async function discard(): Promise<void> {
  if (await confirmLeaving("Discard what is not saved?", "Discard")) discardLocked();
}
