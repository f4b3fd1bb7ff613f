import type { ComponentType } from "preact";
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { importCode } from "./connection.ts";
import type { PageEntry } from "./pages.ts";
import type { Session } from "./session/session.ts";
import { isSafeToReload } from "./session/unsaved-work.ts";
import { tabStorage } from "./storage.ts";
import { loadTexts, t } from "./text/text.ts";
import { AfterPlaceholder, Page, Skeleton } from "./ui/page.tsx";
import { Problem } from "./ui/problem.tsx";

/** A page of the menu, or the reason why this token may not use it. A crash of the page does not affect the rest of the console. */
export function AuthorizedPage({ entry, session }: { readonly entry: PageEntry; readonly session: Session }) {
  const [bug] = useErrorBoundary((error) => console.error(error));
  if (bug !== undefined)
    return (
      <Page title={entry.title()}>
        <Problem error={new Error(t.frame.crashed(String(bug)))} retry={() => location.reload()} />
      </Page>
    );
  if ((entry.opens ?? entry.shown)(session.rights)) return <LoadedPage entry={entry} />;
  return (
    <Page title={entry.title()}>
      <p>{t.frame.pageNeeds(entry.needs())}</p>
    </Page>
  );
}

/** Fetches the page's code and shows it. */
function LoadedPage({ entry }: { readonly entry: PageEntry }) {
  const [Component, setComponent] = useState<ComponentType>();
  const [failed, setFailed] = useState(false);
  const afterPlaceholder = useRef(true);
  useEffect(() => {
    let gone = false;
    importCode(() => Promise.all([entry.load(), loadTexts("refusals", ...entry.texts)])).then(
      ([module]) => {
        if (!gone) setComponent(() => module.default);
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
      <Page title={entry.title()}>
        <Problem error={new Error(t.frame.codeMissing)} retry={() => location.reload()} />
      </Page>
    );
  if (Component !== undefined)
    return (
      <AfterPlaceholder.Provider value={afterPlaceholder}>
        <Component />
      </AfterPlaceholder.Provider>
    );
  return (
    <Page title={entry.title()}>
      <Skeleton />
    </Page>
  );
}

const reloadedKey = "node-server.reloaded";
/** Pause before the next reload, in case the last one did not help. */
const pauseMs = 60_000;

/**
 * Reloads the console when a chunk is no longer on the server: after an update its files have other names. False when unsaved work
 * would be lost, or a reload has just been tried.
 */
function reloadForNewCode(): boolean {
  const last = Number(tabStorage.read(reloadedKey) ?? 0);
  if (!isSafeToReload() || Date.now() - last < pauseMs) return false;
  tabStorage.write(reloadedKey, String(Date.now()));
  // Without storage the page could reload for ever.
  if (tabStorage.read(reloadedKey) === undefined) return false;
  location.reload();
  return true;
}
