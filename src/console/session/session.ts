import { signal } from "@preact/signals";
import { PermissionDenied } from "../../client/index.ts";
import { untilReachable, whenReachable } from "../connection.ts";
import { t } from "../text/text.ts";
import { toast } from "../ui/toasts.tsx";
import { credentialsFor, endReason, identifyToken, isTokenRefused, Session } from "./live-session.ts";
import {
  forgetToken,
  isForgetPending,
  isTokenPersistent,
  resumeByRedirect,
  storedToken,
  storeToken,
} from "./token-storage.ts";
import { isSafeToReload } from "./unsaved-work.ts";

export { serverUrl } from "../connection.ts";
export type { Session } from "./live-session.ts";

type SignIn =
  | { readonly state: "signed-out"; readonly notice?: string }
  | { readonly state: "resuming" }
  /** The stored token may still be valid: the server answered, but not about the token. */
  | { readonly state: "unknown"; readonly why: string }
  | { readonly state: "signed-in"; readonly session: Session };

export const signedIn = signal<SignIn>({ state: "resuming" });

/** Interval at which a revoked token is noticed while nothing is called. */
const checkIntervalMs = 20_000;

/**
 * Messages between the console's tabs in this browser. Pages of buckets share the origin and can read and send them too, so no
 * secret is sent. All a forged message can do is sign out, or reload a tab that waits for a sign-in and holds nothing unsaved.
 */
const channel = new BroadcastChannel(`node-server ${location.pathname}`);
const signedOutMessage = "signed out";
/** Sent once the browser has stored the token, so that other tabs can resume with it. */
const signedInMessage = "signed in";

/** Signs in with the token that the browser stored. Waits for a server that cannot be reached. */
export async function resume(): Promise<void> {
  const token = storedToken();
  if (token === undefined) {
    if (isForgetPending) forgetOrWarn();
    if (!resumeByRedirect()) signedIn.value = { state: "signed-out" };
    return;
  }
  const trying: SignIn = { state: "resuming" };
  signedIn.value = trying;
  try {
    const identity = await untilReachable(async () => identifyToken(await exchanged(token)));
    // The person may have signed out in another tab meanwhile.
    if (signedIn.peek() === trying) startSession(new Session(identity));
  } catch (error) {
    if (signedIn.peek() !== trying) return;
    if (!isTokenRefused(error)) signedIn.value = { state: "unknown", why: messageOf(error) };
    else {
      forgetOrWarn();
      endSession(error instanceof PermissionDenied ? t.frame.youAreSignedOut(endReason(error)) : undefined);
    }
  }
}

/** An earlier version kept the password itself: a session takes its place. */
async function exchanged(token: string): Promise<string> {
  const kept = await credentialsFor(token, isTokenPersistent());
  if (kept !== token) await storeOrWarn(kept, isTokenPersistent());
  return kept;
}

/** Starts a session, or throws the server's error. `persistent` stores the token for 30 days, otherwise until the browser is closed. */
export async function signIn(given: string, persistent: boolean, code?: string): Promise<void> {
  const token = await credentialsFor(given, persistent, code);
  const identity = await identifyToken(token);
  await storeOrWarn(token, persistent);
  startSession(new Session(identity));
}

/**
 * Continues the same session with another token, stored for as long as the one before unless `persistent` is given. A locked session
 * continues only with the token that was signed out. With any other token a new session starts and unsaved work is discarded.
 */
export async function signInAgain(
  session: Session,
  given: string,
  persistent = isTokenPersistent(),
  code?: string,
): Promise<void> {
  const token = await credentialsFor(given, persistent, code);
  const identity = await identifyToken(token);
  await storeOrWarn(token, persistent);
  if (!session.isLocked.peek() || identity.me.token_key === session.me.token_key) session.renew(identity);
  else {
    endSession();
    startSession(new Session(identity));
  }
}

/** Discards a locked session and its unsaved work. Other tabs and the cookie stay: they may belong to a new sign-in. */
export function discardLocked(): void {
  endSession(t.frame.signedOutElsewhere);
}

/** Signs out in every tab. */
export function signOut(): void {
  channel.postMessage(signedOutMessage);
  const now = signedIn.peek();
  if (now.state === "signed-in") void now.session.end();
  forgetOrWarn();
  endSession();
}

/** The current session. Throws when nobody is signed in. */
export function useSession(): Session {
  const now = signedIn.value;
  if (now.state !== "signed-in") throw new Error("nobody is signed in");
  return now.session;
}

// When the tab gets the focus, check at once whether the token is still accepted.
addEventListener("focus", check);
onMessage(signedOutMessage, () => {
  const now = signedIn.peek();
  if (now.state === "signed-in" && !isSafeToReload()) now.session.lock(t.frame.signedOutElsewhere);
  else if (now.state !== "signed-out") endSession(t.frame.signedOutElsewhere);
});

// The server hands out the token only with the page. A tab that waits for a sign-in therefore reloads, unless that would lose work.
onMessage(signedInMessage, () => {
  const now = signedIn.peek();
  const session =
    now.state === "signed-in" && now.session.ended.peek() !== undefined ? now.session : undefined;
  if (now.state !== "signed-out" && session === undefined) return;
  if (isSafeToReload()) location.reload();
  else if (session !== undefined) session.ended.value = t.frame.signedInElsewhere;
});

let checkTimer: ReturnType<typeof setInterval> | undefined;

function startSession(session: Session): void {
  clearInterval(checkTimer);
  checkTimer = setInterval(check, checkIntervalMs);
  signedIn.value = { state: "signed-in", session };
}

function check(): void {
  const now = signedIn.peek();
  if (now.state === "signed-in") void now.session.check();
}

function endSession(notice?: string): void {
  clearInterval(checkTimer);
  const before = signedIn.peek();
  signedIn.value = { state: "signed-out", ...(notice === undefined ? {} : { notice }) };
  if (before.state === "signed-in") before.session.close();
}

/** Stores the token. A failure is shown, and the sign-in continues. */
async function storeOrWarn(token: string, persistent: boolean): Promise<void> {
  try {
    await storeToken(token, persistent);
    channel.postMessage(signedInMessage);
  } catch (error) {
    toast(t.frame.notStored(messageOf(error)), "problem");
  }
}

function forgetOrWarn(): void {
  forgetToken().catch(async (error: unknown) => {
    toast(t.frame.notForgotten(messageOf(error)), "problem");
    // The server was not reached: retry when it is back, unless somebody signed in meanwhile.
    if (error instanceof TypeError && (await whenReachable()) && signedIn.peek().state === "signed-out")
      forgetOrWarn();
  });
}

function onMessage(message: string, listen: () => void): void {
  channel.addEventListener("message", ({ data }) => {
    if (data === message) listen();
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
