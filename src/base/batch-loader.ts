/** Batch is one load of several keys. */
interface Batch<K, V> {
  readonly keys: Set<K>;
  readonly values: Promise<ReadonlyMap<K, V>>;
}

/**
 * BatchLoader loads values by key, at most one load at a time. Keys requested during a load are loaded together by the next one,
 * and a key that is being loaded is not loaded twice, so any number of callers take one database connection. Callers that wait
 * behind a load that fails get its error: a database that does not answer would make them wait as long again.
 */
export class BatchLoader<K, V> {
  readonly #loadAll: (keys: ReadonlySet<K>) => Promise<ReadonlyMap<K, V>>;
  #running: Batch<K, V> | undefined;
  #next: Batch<K, V> | undefined;
  /** False if the load that runs began before a change, so that a caller must wait for the next one. */
  #joinable = false;

  constructor(loadAll: (keys: ReadonlySet<K>) => Promise<ReadonlyMap<K, V>>) {
    this.#loadAll = loadAll;
  }

  async load(key: K): Promise<V | undefined> {
    const running = this.#joinable && this.#running?.keys.has(key) ? this.#running : undefined;
    const batch = running ?? this.#waiting();
    batch.keys.add(key);
    return (await batch.values).get(key);
  }

  /** Marks the running load as outdated: later callers get values that are loaded after this call. */
  expire(): void {
    this.#joinable = false;
  }

  #waiting(): Batch<K, V> {
    this.#next ??= this.#gather(this.#running?.values ?? Promise.resolve());
    return this.#next;
  }

  #gather(before: Promise<unknown>): Batch<K, V> {
    const batch: Batch<K, V> = { keys: new Set(), values: before.then(() => this.#run(batch)) };
    const settled = () => {
      if (this.#next === batch) this.#next = undefined;
      if (this.#running === batch) this.#running = undefined;
    };
    batch.values.then(settled, settled);
    return batch;
  }

  #run(batch: Batch<K, V>): Promise<ReadonlyMap<K, V>> {
    this.#next = undefined;
    this.#running = batch;
    this.#joinable = true;
    return this.#loadAll(batch.keys);
  }
}
