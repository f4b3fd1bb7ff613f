import type { CompiledQuery, Kysely, Selectable } from "kysely";
import { Fault } from "../base/fault.ts";
import { skeletonOf } from "../base/skeleton.ts";
import { nextTurn } from "../base/turns.ts";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";

/** The Super Token is the row with this id. */
const superId = 1;
/** Keys of one query; databases bound the number of its params. */
const keysAtOnce = 500;
/** Rows of one page of the list: with limits of 64 KiB each, parsing 500 took half a second. */
const rowsAtOnce = 100;

export interface TokenRow {
  readonly id: number;
  readonly isSuper: boolean;
  readonly version: number;
  readonly key: string;
  /** Hex SHA-256 of the secret. */
  readonly secretHash: string;
  readonly from: number | null;
  readonly to: number | null;
  readonly limits: unknown;
  readonly username: string | null;
  readonly passwordHash: string | null;
  /** Key of the token that made it; null for the Super Token, for what it made, and for rows older than this column. */
  readonly createdBy: string | null;
}

export type NewToken = Omit<TokenRow, "id" | "isSuper" | "version">;
export type Insertion = "inserted" | "taken" | "confusable";
export type TokenChange = Partial<Pick<TokenRow, "secretHash" | "limits" | "passwordHash">>;

type Columns = Selectable<Schema["token"]>;
type PasswordColumns = Pick<Columns, "token_key" | "password_hash">;

export class TokenRows {
  readonly #dialect: Dialect;
  /** The look-ups of every call, put into words once. */
  readonly #byKey: CompiledQuery<Columns>;
  readonly #byUsername: CompiledQuery<Columns>;
  readonly #proven: CompiledQuery<Columns>;
  readonly #password: CompiledQuery<PasswordColumns>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    const all = dialect.query.selectFrom("token").selectAll();
    this.#byKey = all.where("token_key", "=", "").compile();
    this.#byUsername = all.where("username", "=", "").compile();
    this.#proven = dialect.query
      .selectFrom("token")
      .select(["id", "version", "token_key", "token_hash", "time_stamp_from", "time_stamp_to"])
      .select(["username", "password_hash", "created_by"])
      .select((row) =>
        row.case().when("token_hash", "=", "").then(row.ref("token_limit")).end().as("token_limit"),
      )
      .where("token_key", "=", "")
      .compile() as CompiledQuery<Columns>;
    this.#password = dialect.query
      .selectFrom("token")
      .select(["token_key", "password_hash"])
      .where("username", "=", "")
      .compile();
  }

  byKey(key: string): Promise<TokenRow | undefined> {
    return this.#one(this.#byKey, [key]);
  }

  byUsername(username: string): Promise<TokenRow | undefined> {
    return this.#one(this.#byUsername, [username]);
  }

  /**
   * As `byKey`, with the limits only if the token's secret has this hash (null otherwise): reading large limits would take
   * so long that a wrong secret told whether the key exists.
   */
  byKeyWithSecret(key: string, secretHash: string): Promise<TokenRow | undefined> {
    return this.#one(this.#proven, [secretHash, key]);
  }

  /** What a password is checked against; without the limits, for the same reason. */
  async passwordOf(username: string): Promise<{ key: string; passwordHash: string | null } | undefined> {
    if (username.includes("\0")) return undefined;
    const query = { ...this.#password, parameters: [username] };
    const { rows } = await this.#dialect.query.executeQuery<PasswordColumns>(query);
    const [row] = rows;
    return row === undefined ? undefined : { key: row.token_key, passwordHash: row.password_hash };
  }

  /** Those of these keys that are a token's. */
  async existingKeys(keys: readonly string[]): Promise<Set<string>> {
    const found = new Set<string>();
    for (let at = 0; at < keys.length; at += keysAtOnce) {
      const rows = await this.#dialect.query
        .selectFrom("token")
        .select("token_key")
        .where("token_key", "in", keys.slice(at, at + keysAtOnce))
        .execute();
      for (const { token_key } of rows) found.add(token_key);
    }
    return found;
  }

  async superToken(): Promise<TokenRow | undefined> {
    const row = await this.#dialect.query
      .selectFrom("token")
      .selectAll()
      .where("id", "=", superId)
      .executeTakeFirst();
    return row === undefined ? undefined : this.#toRow(row);
  }

  /** All tokens by id, read in pages: limits are large, and reading many at once would hold up every other call. */
  async *list(): AsyncGenerator<TokenRow> {
    for (let after = Number.MIN_SAFE_INTEGER; ; await nextTurn()) {
      const rows = await this.#dialect.query
        .selectFrom("token")
        .selectAll()
        .where("id", ">", after)
        .orderBy("id")
        .limit(rowsAtOnce)
        .execute();
      for (const row of rows) yield this.#toRow(row);
      if (rows.length < rowsAtOnce) return;
      after = Number(rows.at(-1)?.id);
    }
  }

  /**
   * Adds a token. "taken": another token has the user name, or has it as its key. "confusable": another token has a user name
   * of the same skeleton. Unique indexes decide it, so of two alike names added at once one is refused.
   */
  async insert(token: NewToken): Promise<Insertion> {
    const { username } = token;
    const columns = this.#toColumns(token);
    if (username === null) {
      await this.#dialect.query.insertInto("token").values(columns).execute();
      return "inserted";
    }
    try {
      return await this.#dialect.query.transaction().execute(async (transaction): Promise<Insertion> => {
        if (await hasToken(transaction, "token_key", username)) return "taken";
        await transaction.insertInto("token").values(columns).execute();
        return "inserted";
      });
    } catch (error) {
      if (!(error instanceof Fault && error.data.unique === true)) throw error;
      const { query } = this.#dialect;
      if (await hasToken(query, "username", username)) return "taken";
      return (await hasToken(query, "username_skeleton", columns.username_skeleton)) ? "confusable" : "taken";
    }
  }

  /**
   * Makes row 1, unless it exists. Of two servers that start together one does. `shown` is called before the row is
   * committed: a crash in between costs nothing, because the next start makes and shows new credentials.
   */
  insertSuper(token: NewToken, shown: () => void): Promise<void> {
    return this.#dialect.exclusively(async (transaction) => {
      if (await hasToken(transaction, "id", superId)) return;
      const columns = this.#toColumns(token);
      // Another token may have an alike name from a time without this row; that must not hinder a start.
      if (await hasToken(transaction, "username_skeleton", columns.username_skeleton))
        columns.username_skeleton = null;
      await transaction
        .insertInto("token")
        .values({ id: superId, ...columns })
        .execute();
      await this.#dialect.resetIdSequence(transaction, "token");
      shown();
    });
  }

  async update(id: number, change: TokenChange): Promise<void> {
    const { secretHash, limits, passwordHash } = change;
    await this.#dialect.query
      .updateTable("token")
      .set({
        ...(secretHash === undefined ? {} : { token_hash: secretHash }),
        ...(limits === undefined ? {} : { token_limit: this.#dialect.json(limits) }),
        ...(passwordHash === undefined ? {} : { password_hash: passwordHash }),
      })
      .where("id", "=", id)
      .execute();
  }

  /** New key, secret and password for row 1, in one step. */
  async replaceSuper(token: Pick<NewToken, "key" | "secretHash" | "passwordHash">): Promise<void> {
    await this.#dialect.query
      .updateTable("token")
      .set({ token_key: token.key, token_hash: token.secretHash, password_hash: token.passwordHash })
      .where("id", "=", superId)
      .execute();
  }

  async delete(id: number): Promise<number> {
    const { numDeletedRows } = await this.#dialect.query
      .deleteFrom("token")
      .where("id", "=", id)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  /** How many tokens the token of this key made that still exist. */
  async countCreatedBy(key: string): Promise<number> {
    const { count } = await this.#dialect.query
      .selectFrom("token")
      .select(({ fn }) => fn.countAll().as("count"))
      .where("created_by", "=", key)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  async #one(compiled: CompiledQuery<Columns>, parameters: string[]): Promise<TokenRow | undefined> {
    // PostgreSQL knows no text with NUL in it, so no row has it.
    if (parameters.some((value) => value.includes("\0"))) return undefined;
    const { rows } = await this.#dialect.query.executeQuery<Columns>({ ...compiled, parameters });
    return rows[0] === undefined ? undefined : this.#toRow(rows[0]);
  }

  #toColumns(token: NewToken) {
    return {
      token_key: token.key,
      token_hash: token.secretHash,
      time_stamp_from: token.from,
      time_stamp_to: token.to,
      token_limit: this.#dialect.json(token.limits),
      username: token.username,
      password_hash: token.passwordHash,
      created_by: token.createdBy,
      username_skeleton: token.username === null ? null : skeletonOf(token.username),
    };
  }

  #toRow(row: Columns): TokenRow {
    return {
      id: Number(row.id),
      isSuper: Number(row.id) === superId,
      version: Number(row.version),
      key: row.token_key,
      secretHash: row.token_hash,
      from: row.time_stamp_from === null ? null : Number(row.time_stamp_from),
      to: row.time_stamp_to === null ? null : Number(row.time_stamp_to),
      limits: this.#dialect.fromJson(row.token_limit),
      username: row.username,
      passwordHash: row.password_hash,
      createdBy: row.created_by,
    };
  }
}

/** Whether a token has this value in an indexed column. */
async function hasToken(
  query: Kysely<Schema>,
  column: "id" | "token_key" | "username" | "username_skeleton",
  value: string | number | null,
): Promise<boolean> {
  const row = await query.selectFrom("token").select("id").where(column, "=", value).executeTakeFirst();
  return row !== undefined;
}
