import { sql, type Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/** Attempt is what came of work in a savepoint. */
export type Attempt<T> = { readonly result: T } | { readonly error: unknown };

/**
 * `inSavepoint` runs a part of a transaction; if it throws, only that part is undone, and the transaction can continue. It throws if the
 * transaction cannot, for instance because its connection is lost.
 */
export async function inSavepoint<T>(
  transaction: Transaction<Schema>,
  work: () => Promise<T>,
): Promise<Attempt<T>> {
  await sql`SAVEPOINT part`.execute(transaction);
  let attempt: Attempt<T>;
  try {
    attempt = { result: await work() };
  } catch (error) {
    await sql`ROLLBACK TO SAVEPOINT part`.execute(transaction);
    attempt = { error };
  }
  await sql`RELEASE SAVEPOINT part`.execute(transaction);
  return attempt;
}
