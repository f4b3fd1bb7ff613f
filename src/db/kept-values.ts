import type { Dialect } from "./dialect.ts";

/**
 * KeptValues keeps values that were read from the database for as long as it stays unchanged, whichever process changes it. So a
 * kept value is never older than a new read would be. Where the database cannot say cheaply whether it changed, nothing is kept.
 */
export class KeptValues<V> {
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

  /** Returns the kept value, or what `load` reads, which is kept if `isKept` says so. */
  async read<T extends V | undefined>(
    key: string,
    load: () => Promise<T>,
    isKept: (value: V) => boolean = () => true,
  ): Promise<V | T> {
    const kept = this.get(key);
    return kept !== undefined && isKept(kept) ? kept : this.#load(key, load, isKept);
  }

  async #load<T extends V | undefined>(
    key: string,
    load: () => Promise<T>,
    isKept: (value: V) => boolean,
  ): Promise<T> {
    const version = this.#version;
    const value = await load();
    // A change while the value was read: it may be older than the change.
    if (value === undefined || version === undefined || version !== this.#version || !isKept(value))
      return value;
    if (this.#values.size >= this.#maxValues) this.#values.clear();
    this.#values.set(key, value);
    return value;
  }
}
