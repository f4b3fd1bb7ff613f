import { Collection } from "../collection.ts";
import type { Dialect } from "../dialect.ts";

/** SecondFactorValue is the row of a token whose person signs in with a code, too. Times are Unix milliseconds. */
export interface SecondFactorValue {
  /** What the secret is derived from, with a key that is outside of the database. */
  readonly nonce: string;
  /** False until the person has entered a code. */
  readonly isConfirmed: boolean;
  /** The number of the last period of which a code was used: no code is taken twice. */
  readonly lastPeriod: number;
  /** Hashes of the recovery codes that are left. */
  readonly recovery: readonly string[];
  /** Wrong codes since the last right one. */
  readonly failures: number;
  /** No code is checked before this time. */
  readonly blockedUntil: number;
}

/** Change is what a transaction does with the row of a token; without `write` it stays as it is. */
interface Change<R> {
  readonly write?: SecondFactorValue;
  readonly result: R;
}

/** SecondFactorRows are the second factors of people, by the key of their token. */
export class SecondFactorRows {
  readonly #factors: Collection<SecondFactorValue>;

  constructor(dialect: Dialect) {
    this.#factors = new Collection(dialect, "second_factors");
  }

  get(tokenKey: string): Promise<SecondFactorValue | undefined> {
    return this.#factors.get(tokenKey);
  }

  /** Reads and changes a row in one transaction, while no other node does. */
  change<R>(tokenKey: string, decide: (present: SecondFactorValue | undefined) => Change<R>): Promise<R> {
    return this.#factors.exclusively(async (factors) => {
      const { write, result } = decide(await factors.lock(tokenKey));
      if (write !== undefined) await factors.put(tokenKey, write);
      return result;
    });
  }

  delete(tokenKey: string): Promise<number> {
    return this.#factors.delete(tokenKey);
  }
}
