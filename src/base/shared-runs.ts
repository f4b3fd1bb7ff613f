/** Group is the run under way for one key, and the one that begins after it. */
interface Group<T> {
  running: Promise<T> | undefined;
  next: Promise<T> | undefined;
}

/**
 * SharedRuns lets all who need the same work share one run of it, by key. Those who need any outcome `join` the run under way. Those who
 * need one that knows of what they did before ask for the `next`. If a run fails, everybody who shares it gets the error, and nobody else.
 */
export class SharedRuns<T = void> {
  readonly #groups = new Map<string, Group<T>>();

  /** Resolves to the outcome of the run under way, or of one that begins now. */
  join(key: string, run: () => Promise<T>): Promise<T> {
    const group = this.#groupOf(key);
    return group.running ?? this.#begin(key, group, run);
  }

  /** Resolves to the outcome of a run that begins after this call: in this turn of the event loop, or after the run under way. */
  next(key: string, run: () => Promise<T>): Promise<T> {
    const group = this.#groupOf(key);
    group.next ??= ended(group.running).then(() => {
      group.next = undefined;
      return this.#begin(key, group, run);
    });
    return group.next;
  }

  #groupOf(key: string): Group<T> {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group: Group<T> = { running: undefined, next: undefined };
    this.#groups.set(key, group);
    return group;
  }

  #begin(key: string, group: Group<T>, run: () => Promise<T>): Promise<T> {
    group.running = run().finally(() => {
      group.running = undefined;
      if (group.next === undefined) this.#groups.delete(key);
    });
    return group.running;
  }
}

async function ended(run: Promise<unknown> | undefined): Promise<void> {
  await run?.catch(() => {});
}
