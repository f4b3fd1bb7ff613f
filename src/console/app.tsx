import { effect } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { Asides } from "./asides.tsx";
import { importCode } from "./connection.ts";
import { ConnectionBanner } from "./connection-banner.tsx";
import { Menu } from "./menu.tsx";
import { reloadForNewCode } from "./new-code.ts";
import { SignInAgain } from "./pages/sign-in/again.tsx";
import { SignInPage } from "./pages/sign-in/page.tsx";
import { type PageEntry, pages } from "./pages.ts";
import { route } from "./route.ts";
import { resume, type Session, signedIn } from "./session.ts";
import { dropQuestion, Questions } from "./ui/dialog.tsx";
import { Page } from "./ui/page.tsx";
import { Problem } from "./ui/problem.tsx";
import { Toasts } from "./ui/toasts.tsx";

effect(() => {
  const now = signedIn.value;
  if (now.state !== "in" || now.session.isLocked.value) dropQuestion();
});

export function App() {
  const now = signedIn.value;
  const isLocked = now.state === "in" && now.session.isLocked.value;
  return (
    <>
      <div class={isLocked ? "app-content locked" : "app-content"}>
        <Content />
        <Asides />
      </div>
      <Questions />
      <SignInAgain />
      <ConnectionBanner />
      <Toasts />
    </>
  );
}

function Content() {
  const now = signedIn.value;
  switch (now.state) {
    case "trying":
      return <p class="loading">Signing in…</p>;
    case "unclear":
      return (
        <main class="alone">
          <Problem error={new Error(now.why)} retry={() => void resume()} />
        </main>
      );
    case "asking":
      return <SignInPage notice={now.notice} />;
    case "in":
      // Another session starts with pages of its own, even where it follows at once.
      return <Frame key={now.session} session={now.session} />;
  }
}

function Frame({ session }: { readonly session: Session }) {
  const wanted = route.value.page || "overview";
  const entry = pages.find(({ path }) => path === wanted);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={toMain}>
        Skip to the page
      </button>
      <Menu session={session} current={entry} />
      {entry === undefined ? <NoPage /> : <Guarded key={entry.path} entry={entry} session={session} />}
    </div>
  );
}

function Guarded({ entry, session }: { readonly entry: PageEntry; readonly session: Session }) {
  const [bug] = useErrorBoundary((error) => console.error(error));
  if (bug !== undefined)
    return (
      <Page title={entry.title}>
        <Problem
          error={new Error(`This page has a fault: ${String(bug)}. The others go on.`)}
          retry={() => location.reload()}
        />
      </Page>
    );
  if (entry.shown(session.rights)) return <Fetched entry={entry} />;
  return (
    <Page title={entry.title}>
      <p>
        This page needs {entry.needs}, which the token that you signed in with does not have. Sign in with
        another one, or ask who gave it to you.
      </p>
    </Page>
  );
}

/** The page, once its code is here. */
function Fetched({ entry }: { readonly entry: PageEntry }) {
  const [Shown, setShown] = useState<ComponentType>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let gone = false;
    importCode(entry.load).then(
      (module) => {
        if (!gone) setShown(() => module.default);
      },
      () => {
        if (!gone && !reloadForNewCode()) setFailed(true);
      },
    );
    return () => {
      gone = true;
    };
  }, [entry]);
  if (failed)
    return (
      <Page title={entry.title}>
        <Problem
          error={
            new Error(
              "The code of this page cannot be loaded. The server may have been updated: save what you have not saved, then reload the console.",
            )
          }
          retry={() => location.reload()}
        />
      </Page>
    );
  return Shown === undefined ? <p class="loading">Loading…</p> : <Shown />;
}

function NoPage() {
  return (
    <Page title="No such page">
      <p>
        The console has no page at this address. <a href="#/overview">Go to the overview.</a>
      </p>
    </Page>
  );
}

/** The part after `#` names a page here, so this is no link. */
function toMain(): void {
  document.querySelector<HTMLElement>("#main h1")?.focus();
}
