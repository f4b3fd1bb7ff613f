import { signal } from "@preact/signals";
import { PermissionDenied } from "../client/index.ts";
import { untilReachable, whenReachable } from "./connection.ts";
import { endOf } from "./identity.ts";
import { forget, isKeptForLong, keep, keptToken, resumeByRedirect } from "./kept-token.ts";
import { isRefusal, lookUp, Session } from "./live-session.ts";
import { onSignedInElsewhere, onSignedOutElsewhere, tellSignedIn, tellSignedOut } from "./other-tabs.ts";
import { toast } from "./ui/toasts.tsx";
import { mayReload } from "./unfinished.ts";

export { serverUrl } from "./connection.ts";
export type { Session } from "./live-session.ts";

export type SignIn =
  | { readonly state: "asking"; readonly notice?: string }
  | { readonly state: "trying" }
  /** What is kept may still be good: the server answered, but not about the token. */
  | { readonly state: "unclear"; readonly why: string }
  | { readonly state: "in"; readonly session: Session };

export const signedIn = signal<SignIn>({ state: "trying" });

/** A token that was revoked while nothing is called is noticed within this time. */
const lookMs = 20_000;

/** With what this browser kept; waits for a server that is away. */
export async function resume(): Promise<void> {
  const token = keptToken();
  if (token === undefined) {
    if (!resumeByRedirect()) signedIn.value = { state: "asking" };
    return;
  }
  const trying: SignIn = { state: "trying" };
  signedIn.value = trying;
  try {
    const identity = await untilReachable(() => lookUp(token));
    // Signed out in another tab meanwhile.
    if (signedIn.peek() === trying) begin(new Session(identity));
  } catch (error) {
    if (signedIn.peek() !== trying) return;
    if (!isRefusal(error)) signedIn.value = { state: "unclear", why: messageOf(error) };
    else {
      forgetOrTell();
      leave(error instanceof PermissionDenied ? `You are signed out. ${endOf(error)}` : undefined);
    }
  }
}

/** Throws what the server says against the token. `persistent`: for 30 days, also after the browser was closed. */
export async function signIn(token: string, persistent: boolean): Promise<void> {
  const identity = await lookUp(token);
  await keepOrTell(token, persistent);
  begin(new Session(identity));
}

/**
 * Goes on in the same session with another token, which the browser keeps as it kept the one before unless told otherwise. A locked session
 * is for whoever signed out: anybody else begins a new one, and the work that was not saved is dropped.
 */
export async function signInAgain(
  session: Session,
  token: string,
  persistent = isKeptForLong(),
): Promise<void> {
  const identity = await lookUp(token);
  await keepOrTell(token, persistent);
  if (!session.isLocked.peek() || identity.me.token_key === session.me.token_key) session.renew(identity);
  else {
    leave();
    begin(new Session(identity));
  }
}

/** Drops a locked session with all that is not saved. Other tabs and the cookie, which may belong to a new sign-in, stay as they are. */
export function discardLocked(): void {
  leave(signedOutElsewhere);
}

/** In every tab. */
export function signOut(): void {
  tellSignedOut();
  forgetOrTell();
  leave();
}

/** The session, for what is shown only to who is signed in. */
export function useSession(): Session {
  const now = signedIn.value;
  if (now.state !== "in") throw new Error("nobody is signed in");
  return now.session;
}

/** Something that every session has one of: it outlives pages, and is gone with the session. */
export function perSession<T>(make: (session: Session) => T): (session: Session) => T {
  const made = new WeakMap<Session, { readonly value: T }>();
  return (session) => {
    const own = made.get(session) ?? { value: make(session) };
    made.set(session, own);
    return own.value;
  };
}

// Who comes back to the tab sees at once whether he is still in.
addEventListener("focus", check);
const signedOutElsewhere = "You signed out in another tab.";
onSignedOutElsewhere(() => {
  const now = signedIn.peek();
  if (now.state === "in" && !mayReload()) now.session.lock(signedOutElsewhere);
  else if (now.state !== "asking") leave(signedOutElsewhere);
});

// The token comes with the page alone, so a tab that waits for a sign-in resumes by a reload, and stays where that would lose something.
onSignedInElsewhere(() => {
  const now = signedIn.peek();
  const session = now.state === "in" && now.session.ended.peek() !== undefined ? now.session : undefined;
  if (now.state !== "asking" && session === undefined) return;
  if (mayReload()) location.reload();
  else if (session !== undefined)
    session.ended.value = "You signed in in another tab. Sign in here too: this tab holds unsaved work.";
});

let watch: ReturnType<typeof setInterval> | undefined;

function begin(session: Session): void {
  clearInterval(watch);
  watch = setInterval(check, lookMs);
  signedIn.value = { state: "in", session };
}

function check(): void {
  const now = signedIn.peek();
  if (now.state === "in") void now.session.check();
}

function leave(notice?: string): void {
  clearInterval(watch);
  const before = signedIn.peek();
  signedIn.value = { state: "asking", ...(notice === undefined ? {} : { notice }) };
  if (before.state === "in") before.session.close();
}

/** Who cannot be kept signed in is signed in all the same. */
async function keepOrTell(token: string, persistent: boolean): Promise<void> {
  try {
    await keep(token, persistent);
    tellSignedIn();
  } catch (error) {
    toast(`After a reload you will have to sign in again: ${messageOf(error)}`, "problem");
  }
}

function forgetOrTell(): void {
  forget().catch(async (error: unknown) => {
    toast(`This browser may still keep the token: ${messageOf(error)}`, "problem");
    // Nobody answered: what was to be forgotten is forgotten as soon as the server is back, unless somebody signed in meanwhile.
    if (error instanceof TypeError && (await whenReachable()) && signedIn.peek().state === "asking")
      forgetOrTell();
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
