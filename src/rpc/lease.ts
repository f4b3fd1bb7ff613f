import type { Authenticator } from "../auth/authenticator.ts";

/** Lease is the services of the present configuration, kept open until `release`. */
export interface Lease<S> {
  readonly services: S;
  readonly authenticator: Authenticator;
  release(): void;
}
