import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { AuthorizedPage } from "./authorized-page.tsx";
import { connection, hasFailedAction } from "./connection.ts";
import { sentences } from "./format.ts";
import { Shortcuts } from "./keyboard/shortcuts.tsx";
import { Menu } from "./menu.tsx";
import { Overlays } from "./overlays.tsx";
import { SignInAgain, SignInPage } from "./pages/sign-in/page.tsx";
import { pages } from "./pages.ts";
import { linkTo, replaceRoute, route } from "./route.ts";
import { resume, type Session, signedIn } from "./session/session.ts";
import { t } from "./text/text.ts";
import { ConfirmDialog, cancelQuestion } from "./ui/dialog.tsx";
import { Icon } from "./ui/icons.tsx";
import { Page } from "./ui/page.tsx";
import { Problem } from "./ui/problem.tsx";
import { rich } from "./ui/rich.tsx";
import { Toasts } from "./ui/toasts.tsx";

effect(() => {
  const now = signedIn.value;
  if (now.state !== "signed-in" || now.session.isLocked.value) cancelQuestion();
});

export function App() {
  const now = signedIn.value;
  const isLocked = now.state === "signed-in" && now.session.isLocked.value;
  return (
    <>
      <div class={isLocked ? "app-content locked" : "app-content"}>
        <Content />
        <Overlays />
      </div>
      <ConfirmDialog />
      <SignInAgain />
      <ConnectionBanner />
      <Toasts />
    </>
  );
}

function Content() {
  const now = signedIn.value;
  switch (now.state) {
    case "resuming":
      return <p class="loading">{t.frame.signingIn}</p>;
    case "unknown":
      return (
        <main class="alone">
          <Problem error={new Error(now.why)} retry={() => void resume()} />
        </main>
      );
    case "signed-out":
      return <SignInPage notice={now.notice} />;
    case "signed-in":
      // The key resets the pages when another session follows without a sign-out between.
      return <Frame key={now.session} session={now.session} />;
  }
}

/** Page of an address without one, and of the brand in the menu. */
const start = "overview";

function Frame({ session }: { readonly session: Session }) {
  const wanted = route.value.page || start;
  const entry = pages.find(({ path }) => path === wanted);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={toMain}>
        {t.frame.skip}
      </button>
      <Menu session={session} current={entry} />
      <Shortcuts session={session} current={entry} />
      {entry === undefined ? (
        <NoPage />
      ) : entry.path === start && !entry.shown(session.rights) ? (
        <Landing session={session} />
      ) : (
        <AuthorizedPage key={entry.path} entry={entry} session={session} />
      )}
    </div>
  );
}

/** Leads a token that gets nothing on the overview to where it can work: its bucket, or the list of buckets. */
function Landing({ session: { rights } }: { readonly session: Session }) {
  const { onlyBucket } = rights;
  useLayoutEffect(() => replaceRoute(linkTo("buckets", onlyBucket === undefined ? [] : [onlyBucket])), []);
  return null;
}

function NoPage() {
  return (
    <Page title={t.frame.noPage}>
      <p>{rich(t.frame.noPageText, { link: <a href="#/overview">{t.frame.toOverview}</a> })}</p>
    </Page>
  );
}

/** A function instead of a link, because the fragment of the address names a page. */
function toMain(): void {
  document.querySelector<HTMLElement>("#main h1")?.focus();
}

/** Says that the server does not answer. As a popover it is visible above dialogs too. */
function ConnectionBanner() {
  const banner = useRef<HTMLDivElement>(null);
  const offline = connection.value === "offline";
  useEffect(() => {
    if (offline) banner.current?.showPopover();
    else banner.current?.hidePopover();
  }, [offline]);
  return (
    <div ref={banner} popover="manual" class="connection-banner" role="alert">
      {offline && (
        <>
          <Icon name="warning" />
          <span>{sentences(t.frame.offline, hasFailedAction.value && t.frame.offlineAction)}</span>
        </>
      )}
    </div>
  );
}
