/** Group is the work under way for one key, and that which begins after it. */
interface Group {
  readonly running: Promise<void>;
  next: Promise<void> | undefined;
}

/**
 * SharedSync runs `fsync` once for all who ask for it while an earlier one runs. That one may have begun before their change, so they
 * share the next.
 */
export class SharedSync {
  readonly #groups = new Map<string, Group>();

  /** Resolves after a sync of what `key` names that began after this call. If it fails, everybody who shares it gets the error. */
  run(key: string, sync: () => Promise<void>): Promise<void> {
    const group = this.#groups.get(key);
    if (group === undefined) return this.#start(key, sync);
    group.next ??= group.running.then(
      () => this.#start(key, sync),
      () => this.#start(key, sync),
    );
    return group.next;
  }

  #start(key: string, sync: () => Promise<void>): Promise<void> {
    const running = sync().finally(() => {
      if (this.#groups.get(key)?.next === undefined) this.#groups.delete(key);
    });
    this.#groups.set(key, { running, next: undefined });
    return running;
  }
}
