import type { Dialect } from "./dialect.ts";

/**
 * RowCache caches values that were read from the database until any process changes the database. So a cached value is never older
 * than a new read would be. Where the database cannot say cheaply whether it changed, nothing is cached.
 */
export class RowCache<V> {
  readonly #dialect: Pick<Dialect, "dataVersion">;
  readonly #maxValues: number;
  readonly #values = new Map<string, V>();
  /** The version of the database that all values are of. */
  #version: number | undefined;

  constructor(dialect: Pick<Dialect, "dataVersion">, { maxValues }: { readonly maxValues: number }) {
    this.#dialect = dialect;
    this.#maxValues = maxValues;
  }

  get(key: string): V | undefined {
    const version = this.#dialect.dataVersion?.();
    if (version !== this.#version) {
      this.#values.clear();
      this.#version = version;
    }
    return this.#values.get(key);
  }

  /** read returns the cached value, or what `load` reads, which is cached if `mayCache` returns true. */
  async read<T extends V | undefined>(
    key: string,
    load: () => Promise<T>,
    mayCache: (value: V) => boolean = () => true,
  ): Promise<V | T> {
    const cached = this.get(key);
    return cached !== undefined && mayCache(cached) ? cached : this.#load(key, load, mayCache);
  }

  async #load<T extends V | undefined>(
    key: string,
    load: () => Promise<T>,
    mayCache: (value: V) => boolean,
  ): Promise<T> {
    const version = this.#version;
    const value = await load();
    // A change while the value was read: it may be older than the change.
    if (value === undefined || version === undefined || version !== this.#version || !mayCache(value))
      return value;
    if (this.#values.size >= this.#maxValues) this.#values.clear();
    this.#values.set(key, value);
    return value;
  }
}
