import type { FailedPasswords } from "./failed-passwords.ts";

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
