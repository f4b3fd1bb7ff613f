import type { FailedPasswords } from "./failure-limiter.ts";
import type { Limit } from "./limit.ts";

/** Caller is who makes a call, once its credentials are proven. */
export interface Caller {
  /** The form of its credentials. */
  readonly by: "key" | "username";
  /** The id of the session of a person who has signed in with the user name. */
  readonly session?: string | undefined;
  readonly isSuper: boolean;
  readonly key: string;
  readonly username: string | null;
  readonly limits: readonly Limit[];
  /** The stored hash that the caller's secret or password matched. */
  readonly proof: string;
  /** When the token expires, in Unix milliseconds. */
  readonly until: number | null;
}

/** `whoFields` returns the fields of the log that name a caller, by what it signed in with. */
export function whoFields({ by, key, username }: Caller): { token_key: string } | { username: string } {
  return by === "key" ? { token_key: key } : { username: username ?? "" };
}

/** `callerName` returns what other people know a caller by: its user name, or the key of its token. */
export function callerName({ username, key }: Pick<Caller, "username" | "key">): string {
  return username ?? key;
}

/** `anonymous` is the caller of a method that needs no token. */
export const anonymous: Caller = {
  by: "key",
  isSuper: false,
  key: "",
  username: null,
  limits: [],
  proof: "",
  until: null,
};

/** Peer is the client of a request, as its transport knows it. */
export interface Peer {
  readonly address: string;
  /** Fires when the client has disconnected: nobody waits for the check of its password any more. */
  readonly disconnected: AbortSignal;
  /** Waits for something without occupying a connection slot that others need. */
  withoutSlot<T>(wait: () => Promise<T>): Promise<T>;
  /** The passwords that failed in the same batch. */
  readonly failed?: FailedPasswords | undefined;
}
