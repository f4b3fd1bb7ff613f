import type { Limit } from "./limit.ts";

/** Caller is who makes a call, once its credentials are proven. */
export interface Caller {
  /** The form of its credentials. */
  readonly by: "key" | "username";
  readonly isSuper: boolean;
  readonly key: string;
  readonly username: string | null;
  readonly limits: readonly Limit[];
  /** The stored hash that the caller's secret or password matched. */
  readonly proof: string;
  /** When the token expires, in Unix milliseconds. */
  readonly until: number | null;
}

/** `whoFields` are the fields of the log that name a caller, by what it signed in with. */
export function whoFields({ by, key, username }: Caller): { token_key: string } | { username: string } {
  return by === "key" ? { token_key: key } : { username: username ?? "" };
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
