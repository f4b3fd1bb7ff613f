import { sql } from "kysely";
import { nextTurn } from "../base/turns.ts";
import type { Dialect } from "./dialect.ts";

/** The number of rows written at once. SQLite writes a whole row anew, with limits of up to 64 KiB, on the event loop. */
const rowsAtOnce = 100;

/** TokenUseRows stores when tokens were last used, in the table `token`. */
export class TokenUseRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * Stores the times, in Unix milliseconds, by the tokens' ids. A later time that another server stored stays; ids of deleted tokens
   * are ignored.
   */
  async store(uses: ReadonlyMap<number, number>): Promise<void> {
    // In the order of the ids: two servers that lock rows in different orders could deadlock.
    const rows = [...uses].sort(([a], [b]) => a - b);
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      if (at > 0) await nextTurn();
      const values = rows
        .slice(at, at + rowsAtOnce)
        .map(([id, usedAt]) => sql`(cast(${id} as bigint), cast(${usedAt} as bigint))`);
      await sql`UPDATE token SET last_used_at = used.column2
        FROM (VALUES ${sql.join(values)}) AS used WHERE token.id = used.column1
        AND (token.last_used_at IS NULL OR token.last_used_at < used.column2)`.execute(this.#dialect.query);
    }
  }
}
