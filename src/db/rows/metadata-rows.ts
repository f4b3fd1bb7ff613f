import type { Database } from "../database.ts";
import type { DatabaseTransaction } from "../dialect.ts";
import type { KvRows } from "./kv-rows.ts";

/** MetadataRows are what locks and properties of files are stored with: each statement on its own, or all in one transaction. */
export interface MetadataRows {
  readonly kv: KvRows;
  /** Returns those of these keys that belong to an access token. */
  existingTokens(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** The clock by which locks expire, in Unix milliseconds. */
  now(): number;
}

type Rows = Pick<Database, "kv" | "tokens" | "clock">;

/** `metadataRows` runs each statement on its own and uses the clock of this node. */
export function metadataRows({ kv, tokens, clock }: Rows): MetadataRows {
  return { kv, existingTokens: (keys) => tokens.existingKeys(keys), now: () => clock.now() };
}

/** `metadataRowsWithin` runs every statement in a transaction. `nowMs` is the database's clock when it began. */
export function metadataRowsWithin(
  { kv, tokens }: Rows,
  transaction: DatabaseTransaction,
  nowMs: number,
): MetadataRows {
  return {
    kv: kv.within(transaction),
    existingTokens: (keys) => tokens.existingKeys(keys, transaction),
    now: () => nowMs,
  };
}
