/** A direction of a connection: `request` is that from the client to the server. */
export type Direction = "request" | "answer";

/** ConnectionFilter sees what passes through one connection. */
export interface ConnectionFilter {
  /** The part of the bytes that gets through; undefined cuts the connection at once. */
  pass(of: Direction, bytes: Buffer): Buffer | undefined;
  /** Whether the connection is to be cut as soon as what has passed has arrived. */
  readonly isCut?: boolean;
  readonly delayMs?: number;
  /** Set when the client is cut off at once, and what has passed arrives at the server only when this resolves. */
  readonly arrival?: Promise<unknown> | undefined;
}
