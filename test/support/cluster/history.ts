/** The state of a register in which it does not exist. */
export const absent = "absent";

interface Timed {
  /** The number of the node that was asked, from 0. */
  readonly node: number;
  /** In Unix milliseconds, with fractions, of a clock that nobody sets: before the request was sent, and when its answer was complete. */
  readonly begin: number;
  readonly end: number;
  /** What was sent and answered, for people. */
  readonly note: string;
}

/** `maybe` is the outcome of a change whose answer did not come, or was 5xx: it may have been done, or may be done later. */
export type Outcome = "done" | "refused" | "maybe";

/**
 * A change of a register, which was allowed only in the state `parent`. A register is a file, whose states are entity tags, or a
 * folder that is moved, whose states are its names. No state comes twice, except `absent`.
 */
export interface Write extends Timed {
  readonly kind: "write";
  readonly subject: string;
  readonly parent: string;
  readonly child: string;
  readonly outcome: Outcome;
}

export interface Read extends Timed {
  readonly kind: "read";
  readonly subject: string;
  /** A leased read may be a second old. */
  readonly isStrict: boolean;
  /** The state that was seen; undefined if there was no answer to rely on. */
  readonly saw: string | undefined;
  /** Names the listing that it is a part of: what that shows was all true at one moment. */
  readonly listing?: string;
  /** Why the answer can be true of no state: a torn body, a folder at two places, an internal error. */
  readonly broken?: string;
}

/** An exclusive lock that was granted, until `releasedAt`, when its holder asked to end it; for `timeoutMs` at most. */
export interface Hold extends Timed {
  readonly kind: "hold";
  readonly subject: string;
  readonly timeoutMs: number;
  readonly releasedAt: number;
}

/** A change of what may be locked, which shows no lock token, and was done. */
export interface Intrusion extends Timed {
  readonly kind: "intrusion";
  readonly subject: string;
}

/** A token that was revoked, for certain at `end`. */
export interface Revocation extends Timed {
  readonly kind: "revocation";
  readonly subject: string;
}

/** A token that was accepted: a request between `begin` and `end`, or an event of a subscription at that time. */
export interface Use extends Timed {
  readonly kind: "use";
  readonly subject: string;
}

/** A change of a path that is changed only once, of which every listener has to be told. */
export interface Change extends Timed {
  readonly kind: "change";
  readonly subject: string;
  readonly outcome: Outcome;
}

/** What a listener was told: a path that changed, or, with an empty subject, to list everything again. */
export interface Told extends Timed {
  readonly kind: "told";
  readonly subject: string;
  readonly listener: string;
}

/** A request of another kind. It only has to end in time. */
export interface Other extends Timed {
  readonly kind: "other";
}

export type Operation = Write | Read | Hold | Intrusion | Revocation | Use | Change | Told | Other;

/** A time in which a node could not rely on its database, until it had surely recovered. */
export interface Outage {
  readonly node: number;
  readonly begin: number;
  readonly end: number;
}

export interface History {
  readonly operations: readonly Operation[];
  readonly outages: readonly Outage[];
  /** Who is told of every change. */
  readonly listeners: readonly string[];
  /** The longest time that a request may take. */
  readonly deadlineMs: number;
  /** `stale_seconds` of the nodes, in milliseconds. */
  readonly staleMs: number;
}

export function now(): number {
  return performance.timeOrigin + performance.now();
}
