import { signal } from "@preact/signals";
import {
  type CallOptions,
  ClientError,
  InvalidInput,
  NodeServerClient,
  ParseError,
  PermissionDenied,
  type Token,
  Unreachable,
} from "../client/index.ts";
import { forget, forgetInTab, keepForTab, keptForTab, remember, rememberedToken } from "./kept-token.ts";
import { Rights } from "./rights.ts";
import { toast } from "./ui/toasts.tsx";

/** Who is signed in, and what with. */
export interface Session {
  readonly client: NodeServerClient;
  readonly me: Token;
  readonly rights: Rights;
}

export type SignIn =
  | { readonly state: "asking"; readonly notice?: string }
  | { readonly state: "trying" }
  /** What is kept may still be good; nobody says anything about it. */
  | { readonly state: "unreachable"; readonly why: string }
  | { readonly state: "in"; readonly session: Session };

export const signedIn = signal<SignIn>({ state: "trying" });

/** A token that was revoked while nothing is called is noticed within this time. */
const lookMs = 20_000;

/** The server stands two folders above the console, wherever a proxy may have put them. */
export const serverUrl = new URL("../..", location.href).href.replace(/\/$/, "");

/** A refusal may mean that the token has ended, so it is looked into. */
class WatchfulClient extends NodeServerClient {
  override async callAny(method: string, params?: object, options?: CallOptions | AbortSignal) {
    try {
      return await super.callAny(method, params, options);
    } catch (error) {
      if (error instanceof PermissionDenied && method !== "token_get") void stillIn();
      throw error;
    }
  }
}

/** With what this tab or this browser kept. */
export async function resume(): Promise<void> {
  const kept = keptForTab();
  const token = kept ?? rememberedToken();
  if (token === undefined) {
    signedIn.value = { state: "asking" };
    return;
  }
  try {
    const session = await open(token);
    if (kept === undefined) keepForTab(token);
    begin(session);
  } catch (error) {
    if (isRefusal(error)) signOut(`You are signed out: ${reason(error)}`);
    else signedIn.value = { state: "unreachable", why: reason(error) };
  }
}

/** Throws what the server says against it. */
export async function signIn(token: string, keep: boolean): Promise<void> {
  const session = await open(token);
  if (keep) await remember(token);
  keepForTab(token);
  begin(session);
}

export function signOut(notice?: string): void {
  clearInterval(watch);
  forgetInTab();
  forget().catch((error: unknown) =>
    toast(`This browser may still remember the token: ${reason(error)}`, "problem"),
  );
  signedIn.value = { state: "asking", ...(notice === undefined ? {} : { notice }) };
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

async function open(token: string): Promise<Session> {
  const client = new WatchfulClient(serverUrl, { token, timeoutMs: 60_000 });
  const [me, buckets] = await client.batch([["token_get"], ["static-bucket_list"]]);
  if (me instanceof ClientError) throw me;
  if (buckets instanceof ClientError && !(buckets instanceof PermissionDenied)) throw buckets;
  return { client, me, rights: new Rights(me, !(buckets instanceof ClientError)) };
}

// Who comes back to the tab sees at once whether he is still in.
addEventListener("focus", () => void stillIn());

let watch: ReturnType<typeof setInterval> | undefined;

function begin(session: Session): void {
  clearInterval(watch);
  watch = setInterval(stillIn, lookMs);
  signedIn.value = { state: "in", session };
}

/** Signs out once the token is no longer taken. A server that cannot be reached says nothing about it. */
export async function stillIn(): Promise<void> {
  const now = signedIn.value;
  if (now.state !== "in") return;
  try {
    await now.session.client.call("token_get");
  } catch (error) {
    if (error instanceof PermissionDenied && signedIn.value === now)
      signOut(`You are signed out: ${reason(error)}`);
  }
}

/** The server says no to this token, and not that it can say nothing now. */
function isRefusal(error: unknown): boolean {
  return error instanceof PermissionDenied || error instanceof ParseError || error instanceof InvalidInput;
}

function reason(error: unknown): string {
  if (error instanceof Unreachable) return `The server does not answer: ${error.message}`;
  if (!(error instanceof PermissionDenied)) return error instanceof Error ? error.message : String(error);
  return /expired/i.test(error.message)
    ? "the token has expired."
    : "the server no longer takes this token. It was revoked, or its secret or password was changed.";
}
