import { signIn } from "../../session.ts";
import { SignInForm } from "./form.tsx";

/** The first page. */
export function SignInPage({ notice }: { readonly notice: string | undefined }) {
  return (
    <main class="sign-in">
      <SignInForm onSignIn={signIn}>
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
      </SignInForm>
    </main>
  );
}
