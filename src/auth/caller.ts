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
