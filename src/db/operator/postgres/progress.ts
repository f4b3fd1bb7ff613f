import { Fault } from "../../../base/fault.ts";
import { commitsByItself, endsTransaction } from "./statements.ts";

/** PgProgress tracks which statements of a request PostgreSQL has committed. */
export class PgProgress {
  #ended = 0;
  #kept = 0;
  #isInTransaction = false;
  /**
   * Tells whether the running statement may have committed something: no, only if PostgreSQL reports no failure, or in any case.
   */
  #mayCommit: "no" | "without failure" | "always" = "no";

  /** Must be called before a statement runs. */
  started(sql: string): void {
    if (commitsByItself(sql) && !this.#isInTransaction) this.#mayCommit = "always";
    else this.#mayCommit = endsTransaction(sql) ? "without failure" : "no";
  }

  /** Must be called before PostgreSQL is asked to commit the statement. */
  committing(): void {
    if (this.#mayCommit === "no" && !this.#isInTransaction) this.#mayCommit = "without failure";
  }

  /** Must be called with a statement's command tag, and whether a transaction is open after it. */
  ended(tag: string, isInTransaction: boolean): void {
    this.#mayCommit = "no";
    this.#ended += 1;
    this.#isInTransaction = isInTransaction;
    // COMMIT AND CHAIN commits and begins the next transaction at once. A COMMIT that rolls back has the tag ROLLBACK.
    if (!isInTransaction || tag === "COMMIT") this.#kept = this.#ended;
  }

  /** Returns how many statements, from the first, are committed after this error; null if that cannot be known. */
  keptAfter(error: unknown): number | null {
    const isReported = error instanceof Fault && error.data.sqlstate !== undefined;
    const isKnown = this.#mayCommit === "no" || (this.#mayCommit === "without failure" && isReported);
    return isKnown ? this.#kept : null;
  }
}
