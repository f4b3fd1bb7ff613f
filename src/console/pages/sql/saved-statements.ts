import type { NodeServerClient } from "../../../client/index.ts";
import type { Row } from "./cells.ts";
import type { Dialect } from "./statements.ts";

export interface SavedStatement {
  readonly name: string;
  readonly sql: string;
  readonly savedAt: Date;
}

export const maxNameChars = 100;
/** Longest statement that can be saved. */
export const maxSavedChars = 65_536;

/** Namespace of `kv` that the statements are kept in. */
const namespace = "console/statements";

const inserts: Readonly<Record<Dialect, string>> = {
  sqlite: "INSERT INTO kv (namespace, key, value) VALUES (?, ?, ?)",
  postgres: "INSERT INTO kv (namespace, key, value) VALUES ($1, $2, CAST($3::text AS json))",
};

/**
 * Statements that are saved in the server's database, in table `kv`. Whoever may run SQL shares them; pages of buckets, which share
 * the browser's storage with the console, can neither read nor change them (decision 0012).
 */
export class SavedStatements {
  readonly #client: NodeServerClient;
  readonly #dialect: Dialect;

  constructor(client: NodeServerClient, dialect: Dialect) {
    this.#client = client;
    this.#dialect = dialect;
  }

  /** All statements by name. */
  async list(signal?: AbortSignal): Promise<readonly SavedStatement[]> {
    const { data } = await this.#run(
      `SELECT key, value FROM kv WHERE namespace = ${this.#placeholder(1)} ORDER BY key`,
      [namespace],
      signal,
    );
    return data.map(toSaved);
  }

  /** Saves a statement. Without `replace` it returns false, and changes nothing, if the name is taken. */
  async save(name: string, sql: string, { replace }: { readonly replace: boolean }): Promise<boolean> {
    const value = JSON.stringify({ sql, saved_at: Date.now() });
    const conflict = replace ? "DO UPDATE SET value = excluded.value" : "DO NOTHING";
    const statement = `${inserts[this.#dialect]} ON CONFLICT (namespace, key) ${conflict}`;
    return (await this.#run(statement, [namespace, name, value])).row_count > 0;
  }

  async delete(name: string): Promise<void> {
    const [space, key] = [this.#placeholder(1), this.#placeholder(2)];
    await this.#run(`DELETE FROM kv WHERE namespace = ${space} AND key = ${key}`, [namespace, name]);
  }

  #placeholder(number: number): string {
    return this.#dialect === "sqlite" ? "?" : `$${number}`;
  }

  #run(sql: string, params: readonly string[], signal?: AbortSignal) {
    return this.#client.call("node-server_exec_sql", { sql, params }, { signal });
  }
}

/** SQLite returns JSON as text. */
function toSaved({ key, value }: Row): SavedStatement {
  const stored: unknown = typeof value === "string" ? JSON.parse(value) : value;
  const { sql, saved_at: savedAt } = (stored ?? {}) as Record<string, unknown>;
  return { name: String(key), sql: String(sql ?? ""), savedAt: new Date(Number(savedAt ?? 0)) };
}
