import type { Dialect } from "../dialect.ts";

export class AgentRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Returns the UUIDs of the agents that are not deleted, sorted. */
  async uuids(): Promise<string[]> {
    const rows = await this.#dialect.query
      .selectFrom("monitoring_uuid")
      .select("uuid")
      .where("soft_delete", "=", false)
      .execute();
    return rows.map(({ uuid }) => uuid.toLowerCase()).sort();
  }
}
