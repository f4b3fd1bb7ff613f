import { effect } from "@preact/signals";
import { type Session, signedIn } from "./session.ts";
import { registerReloadLoss, registerUnsavedWork } from "./unsaved-work.ts";

interface SessionStateOptions<T> {
  /** A noun for what signing out would lose, such as "uploads in progress"; undefined if it would lose nothing. */
  readonly unsaved?: (state: T) => string | undefined;
  /** Whether a reload would lose something too small to ask about. */
  readonly isLostByReload?: (state: T) => boolean;
}

/**
 * Creates one value per session, on first use. It outlives pages and is garbage collected with its session. `current` is that of
 * the current session, and undefined when nobody is signed in.
 */
export function sessionState<T extends object>(
  make: (session: Session) => T,
  { unsaved, isLostByReload }: SessionStateOptions<T> = {},
): { of(session: Session): T; current(): T | undefined } {
  const states = new WeakMap<Session, T>();
  const of = (session: Session) => {
    const known = states.get(session) ?? make(session);
    states.set(session, known);
    return known;
  };
  const current = () => {
    const now = signedIn.value;
    return now.state === "signed-in" ? of(now.session) : undefined;
  };
  if (unsaved !== undefined)
    registerUnsavedWork(() => {
      const state = current();
      return state && unsaved(state);
    });
  if (isLostByReload !== undefined)
    registerReloadLoss(() => {
      const state = current();
      return state !== undefined && isLostByReload(state);
    });
  return { of, current };
}

/** Calls `end` whenever a session is over: the next person must find nothing of it. */
export function onSessionEnd(end: () => void): void {
  let last: Session | undefined;
  effect(() => {
    const now = signedIn.value;
    const next = now.state === "signed-in" ? now.session : undefined;
    if (last !== undefined && last !== next) end();
    last = next;
  });
}
