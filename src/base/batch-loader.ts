/** Batch is one load of several keys. */
interface Batch<K, V> {
  readonly keys: Set<K>;
  readonly values: Promise<ReadonlyMap<K, V>>;
}

/**
 * BatchLoader loads values by key, at most one load at a time, so any number of callers take one database connection. Keys that are
 * requested during a load are loaded together by the next one. A value is always of a load that began after its caller asked: nobody
 * joins one that runs. Callers that wait behind a load that fails get its error: a database that does not answer would make
 * them wait as long again.
 */
export class BatchLoader<K, V> {
  readonly #loadAll: (keys: ReadonlySet<K>) => Promise<ReadonlyMap<K, V>>;
  #running: Batch<K, V> | undefined;
  #next: Batch<K, V> | undefined;

  constructor(loadAll: (keys: ReadonlySet<K>) => Promise<ReadonlyMap<K, V>>) {
    this.#loadAll = loadAll;
  }

  async load(key: K): Promise<V | undefined> {
    return (await this.loadMany([key])).get(key);
  }

  /** Loads several keys. The result may have others too. */
  loadMany(keys: Iterable<K>): Promise<ReadonlyMap<K, V>> {
    this.#next ??= this.#gather(this.#running?.values ?? Promise.resolve());
    for (const key of keys) this.#next.keys.add(key);
    return this.#next.values;
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
    return this.#loadAll(batch.keys);
  }
}
