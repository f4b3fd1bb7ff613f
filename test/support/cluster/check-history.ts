import {
  absent,
  type History,
  type Hold,
  type Operation,
  type Outage,
  type Read,
  type Use,
  type Write,
} from "./history.ts";

/** The age of what plain HTTP and tokens are answered from, at most. */
const maxAgeMs = 1000;
/** When PostgreSQL is silent for this long, plain HTTP goes on with what is known, as in an outage. */
const maxSilenceMs = 200;

export interface Violation {
  readonly rule:
    | "lost write"
    | "body"
    | "broken answer"
    | "stale read"
    | "lock"
    | "revocation"
    | "moved folder"
    | "untold"
    | "late answer";
  readonly subject: string;
  /** The operations that prove it. */
  readonly operations: readonly Operation[];
}

/**
 * checkHistory finds what no cluster may do, in a record of what its clients saw. It is sound for any clock of the nodes and any
 * delay of the clients: an operation took effect at some moment between its `begin` and its `end`, and one whose outcome is
 * unknown at any moment after its `begin`, or never.
 */
export function checkHistory(history: History): Violation[] {
  const bySubject = Map.groupBy(atOneMoment(history.operations), (operation) =>
    "subject" in operation ? operation.subject : "",
  );
  const outages = [...history.outages, ...silences(history.operations)];
  return [
    ...[...bySubject].flatMap(([subject, operations]) => [
      ...new Register(subject, operations, { ...history, outages }).violations(),
      ...lockViolations(subject, operations),
      ...revocationViolations(subject, operations, history.outages),
    ]),
    ...untold(history),
    ...history.operations.flatMap((operation) =>
      operation.end - operation.begin > history.deadlineMs
        ? [{ rule: "late answer" as const, subject: operation.note, operations: [operation] }]
        : [],
    ),
  ];
}

/**
 * untold finds changes that were answered as done and of which a listener was not told. Whoever is told to list again after a change began sees
 * it, or is told of it later.
 */
export function untold({ operations, listeners }: Pick<History, "operations" | "listeners">): Violation[] {
  const told = ofKind(operations, "told");
  const changes = ofKind(operations, "change").filter(({ outcome }) => outcome === "done");
  return listeners.flatMap((listener) => {
    const own = told.filter((one) => one.listener === listener);
    const paths = new Set(own.map(({ subject }) => subject));
    const resetAt = Math.max(...own.filter(({ subject }) => subject === "").map(({ end }) => end));
    return changes
      .filter(({ subject, begin }) => !paths.has(subject) && resetAt < begin)
      .map((change) => ({
        rule: "untold",
        subject: `${change.subject} to the ${listener}`,
        operations: [change],
      }));
  });
}

const ofKind = <K extends Operation["kind"]>(operations: readonly Operation[], kind: K) =>
  operations.filter((operation): operation is Extract<Operation, { kind: K }> => operation.kind === kind);

/** silences are the times in which a node may have waited for PostgreSQL, because a strict read of it took that long. */
function silences(operations: readonly Operation[]): Outage[] {
  return ofKind(operations, "read").filter(
    ({ isStrict, begin, end }) => isStrict && end - begin >= maxSilenceMs,
  );
}

/** A listing shows a moment after the beginning of every write that it shows: none of its reads began before. */
function atOneMoment(operations: readonly Operation[]): Operation[] {
  const state = (subject: string, value?: string) => JSON.stringify([subject, value]);
  const written = new Map(
    ofKind(operations, "write").map(({ subject, child, begin }) => [state(subject, child), begin]),
  );
  const moments = new Map<string, number>();
  for (const { listing, subject, saw, begin } of ofKind(operations, "read"))
    if (listing !== undefined)
      moments.set(
        listing,
        Math.max(moments.get(listing) ?? begin, written.get(state(subject, saw)) ?? begin),
      );
  return operations.map((operation) => {
    const begin = operation.kind === "read" ? moments.get(operation.listing ?? "") : undefined;
    return begin === undefined ? operation : { ...operation, begin };
  });
}

class Register {
  readonly #writes: readonly Write[];
  readonly #reads: readonly Read[];
  readonly #byChild: ReadonlyMap<string, Write>;
  readonly #byParent: ReadonlyMap<string, readonly Write[]>;
  /** When each write was done at the latest: it was answered, or what it wrote was seen, or replaced by a write of which that is known. */
  readonly #doneBy = new Map<Write, number>();

  constructor(
    readonly subject: string,
    operations: readonly Operation[],
    readonly history: History,
  ) {
    this.#writes = ofKind(operations, "write").filter(({ outcome }) => outcome !== "refused");
    this.#reads = ofKind(operations, "read");
    this.#byChild = new Map(
      this.#writes.filter(({ child }) => child !== absent).map((write) => [write.child, write]),
    );
    this.#byParent = Map.groupBy(this.#writes, ({ parent }) => parent);
    for (const write of this.#writes) if (write.outcome === "done") this.#isDone(write, write.end);
    for (const { saw = absent, end } of this.#reads) this.#isDone(this.#byChild.get(saw), end);
  }

  #isDone(write: Write | undefined, by: number): void {
    for (let at = write; at !== undefined; at = this.#byChild.get(at.parent)) {
      if ((this.#doneBy.get(at) ?? Number.POSITIVE_INFINITY) <= by) return;
      this.#doneBy.set(at, by);
    }
  }

  violations(): Violation[] {
    return [
      ...this.#lostWrites(),
      ...this.#lostCreations(),
      ...this.#reads.flatMap((read) => this.#judge(read)),
    ];
  }

  #violation(rule: Violation["rule"], ...operations: Operation[]): Violation {
    return { rule, subject: this.subject, operations };
  }

  #lostWrites(): Violation[] {
    return [...this.#byParent].flatMap(([parent, writes]) => {
      const done = writes.filter((write) => this.#doneBy.has(write));
      return parent !== absent && done.length > 1 ? [this.#violation("lost write", ...done)] : [];
    });
  }

  /** Of two creations, one came after a removal of the other. */
  #lostCreations(): Violation[] {
    const creations = (this.#byParent.get(absent) ?? []).filter((write) => this.#doneBy.has(write));
    const ordered = creations.toSorted((one, other) => this.#doneAt(one) - this.#doneAt(other));
    return ordered.slice(1).flatMap((second, at) => {
      const first = ordered[at] as Write;
      const isRemoved = this.#writes.some(
        ({ child, begin }) => child === absent && begin < this.#doneAt(second),
      );
      return isRemoved ? [] : [this.#violation("lost write", first, second)];
    });
  }

  #doneAt(write: Write): number {
    return this.#doneBy.get(write) ?? Number.POSITIVE_INFINITY;
  }

  #judge(read: Read): Violation[] {
    const { saw } = read;
    if (read.broken !== undefined)
      return [this.#violation(read.broken.includes("places") ? "moved folder" : "broken answer", read)];
    if (saw === undefined) return [];
    const horizon = this.#horizonOf(read);
    if (saw === absent) return this.#judgeAbsence(read, horizon);
    const written = this.#byChild.get(saw);
    if (written === undefined || written.begin > read.end) return [this.#violation("body", read)];
    const replaced = this.#byParent.get(saw)?.filter((write) => this.#doneAt(write) < horizon) ?? [];
    return replaced.length > 0 ? [this.#violation("stale read", written, ...replaced, read)] : [];
  }

  /**
   * What was done before this time must be seen. While a node cannot reach its database, plain HTTP goes on with what is known: of
   * each path what was true when the node last answered it.
   */
  #horizonOf({ isStrict, node, begin, end }: Read): number {
    if (isStrict) return begin;
    const { outages, staleMs } = this.history;
    const own = outages.filter((outage) => outage.node === node);
    let knownAt = begin;
    for (const outage of own.toSorted((one, other) => other.end - one.end))
      if (outage.end >= knownAt - maxAgeMs && outage.begin <= end) knownAt = Math.min(knownAt, outage.begin);
    if (knownAt < begin) knownAt = this.#answeredAt(node, knownAt);
    return Math.max(knownAt, begin - staleMs) - maxAgeMs;
  }

  /** When the last answer about this register began that a node gave before some time. */
  #answeredAt(node: number, before: number): number {
    const answers = [
      ...this.#reads.filter(({ saw }) => saw !== undefined),
      ...this.#writes.filter(({ outcome }) => outcome === "done"),
    ].filter((answer) => answer.node === node && answer.end <= before);
    return answers.reduce((latest, { begin }) => Math.max(latest, begin), Number.NEGATIVE_INFINITY);
  }

  /** A register that was created, and that nobody has tried to remove since, exists. */
  #judgeAbsence(read: Read, horizon: number): Violation[] {
    const removals = this.#writes.filter(({ child, begin }) => child === absent && begin < read.end);
    const removed = new Set(removals.map((removal) => this.#creationOf(removal)));
    const created = (this.#byParent.get(absent) ?? []).filter((write) => this.#doneAt(write) < horizon);
    return created
      .filter((creation) => !removed.has(creation))
      .map((creation) => this.#violation("stale read", creation, read));
  }

  #creationOf(write: Write): Write {
    let at = write;
    for (
      let before = this.#byChild.get(at.parent);
      before !== undefined;
      before = this.#byChild.get(at.parent)
    )
      at = before;
    return at;
  }
}

function lockViolations(subject: string, operations: readonly Operation[]): Violation[] {
  const holds = ofKind(operations, "hold").toSorted((one, other) => one.end - other.end);
  const intrusions = ofKind(operations, "intrusion");
  return holds.flatMap((hold, at) => {
    const until = heldUntil(hold);
    const others = holds.slice(at + 1).filter((other) => other.end < until && other.end < heldUntil(other));
    const within = intrusions.filter(({ begin, end }) => begin > hold.end && end < until);
    return [...others, ...within].map((other) => ({
      rule: "lock" as const,
      subject,
      operations: [hold, other],
    }));
  });
}

function heldUntil({ begin, timeoutMs, releasedAt }: Hold): number {
  return Math.min(begin + timeoutMs, releasedAt);
}

function revocationViolations(
  subject: string,
  operations: readonly Operation[],
  outages: readonly Outage[],
): Violation[] {
  const [revocation] = ofKind(operations, "revocation");
  if (revocation === undefined) return [];
  const isLate = (use: Use) =>
    use.begin > revocation.end + maxAgeMs &&
    !outages.some(({ node, begin, end }) => node === use.node && begin < use.end && end > revocation.end);
  return ofKind(operations, "use")
    .filter(isLate)
    .map((use) => ({ rule: "revocation", subject, operations: [revocation, use] }));
}
