import { type CompiledQuery, type Kysely, type Selectable, sql } from "kysely";
import { Fault } from "../../base/fault.ts";
import { nextTurn } from "../../base/turns.ts";
import { skeletonOf } from "../../base/visible-text.ts";
import type { Query } from "../collection.ts";
import { type Dialect, type Schema, superTokenScope } from "../dialect.ts";
import { RowCache } from "../freshness.ts";
import { superTokenRolls } from "./kv-rows.ts";

/** The number of keys per query: databases limit the number of parameters. */
const keysAtOnce = 500;
/** The number of proven tokens whose rows are cached. */
const maxCachedTokens = 1000;
/** The number of rows that are read at once: with limits of 64 KiB each, parsing 500 took half a second. */
const rowsAtOnce = 100;

type Insertion = "inserted" | "taken" | "confusable";
type TokenChange = Partial<Pick<TokenRow, "secretHash" | "limits" | "passwordHash" | "name">>;

type PasswordColumns = Pick<Columns, "token_key" | "password_hash">;

/**
 * TokenRows are the rows of the table `token`. It has more than 15 methods because it is every statement about a token but the counts of
 * its uses, which are apart.
 */
export class TokenRows {
  readonly #dialect: Dialect;
  /** The look-ups of every call, compiled once. */
  readonly #byKey: CompiledQuery<Columns>;
  readonly #byUsername: CompiledQuery<Columns>;
  readonly #proven: CompiledQuery<Columns>;
  readonly #password: CompiledQuery<PasswordColumns>;
  /** Rows of proven tokens by key. */
  readonly #cache: RowCache<TokenRow>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#cache = new RowCache(dialect, { maxValues: maxCachedTokens });
    const all = dialect.query.selectFrom("token").selectAll();
    this.#byKey = all.where("token_key", "=", "").compile();
    this.#byUsername = all.where("username", "=", "").compile();
    this.#proven = dialect.query
      .selectFrom("token")
      .select(["id", "version", "token_key", "token_hash", "time_stamp_from", "time_stamp_to"])
      .select(["username", "password_hash", "created_by", "name", "created_at", "last_used_at"])
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

  /** cachedByKey returns the row of a token without waiting; undefined unless it is cached. Only proven tokens are. */
  cachedByKey(key: string): TokenRow | undefined {
    return this.#cache.get(key);
  }

  async byKey(key: string): Promise<TokenRow | undefined> {
    return this.#cache.get(key) ?? this.#one(this.#byKey, [key]);
  }

  /** Returns the existing tokens with these keys, by key. */
  async byKeys(keys: Iterable<string>): Promise<Map<string, TokenRow>> {
    const found = new Map<string, TokenRow>();
    const missing: string[] = [];
    for (const key of new Set(keys)) {
      const cached = this.#cache.get(key);
      if (cached === undefined) missing.push(key);
      else found.set(key, cached);
    }
    for (let at = 0; at < missing.length; at += rowsAtOnce) {
      if (at > 0) await nextTurn();
      const rows = await this.#dialect.query
        .selectFrom("token")
        .selectAll()
        .where("token_key", "in", missing.slice(at, at + rowsAtOnce))
        .execute();
      for (const row of rows) found.set(row.token_key, toTokenRow(this.#dialect, row));
    }
    return found;
  }

  byUsername(username: string): Promise<TokenRow | undefined> {
    return this.#one(this.#byUsername, [username]);
  }

  /**
   * Finds a token by its key, with the limits only if its secret has this hash (null otherwise). Reading large limits takes so long
   * that the time would reveal to a caller with a wrong secret that the key exists.
   */
  async byKeyWithSecret(key: string, secretHash: string): Promise<TokenRow | undefined> {
    return this.#cache.read(
      key,
      () => this.#one(this.#proven, [secretHash, key]),
      // Only for a right secret: otherwise the time of an answer would reveal to strangers which keys exist.
      (row) => row.secretHash === secretHash,
    );
  }

  /** Returns the hash of the secret of a token; without the limits, for the same reason. */
  async secretHashOf(key: string): Promise<string | undefined> {
    return (await this.#one(this.#proven, ["", key]))?.secretHash;
  }

  /** Returns the password hash of a user name; without the limits, for the same reason. */
  async passwordOf(username: string): Promise<{ key: string; passwordHash: string | null } | undefined> {
    if (username.includes("\0")) return undefined;
    const query = { ...this.#password, parameters: [username] };
    const { rows } = await this.#dialect.query.executeQuery<PasswordColumns>(query);
    const [row] = rows;
    return row === undefined ? undefined : { key: row.token_key, passwordHash: row.password_hash };
  }

  /** Returns those of these keys that belong to a token. */
  async existingKeys(keys: readonly string[], query: Query = this.#dialect.query): Promise<Set<string>> {
    const found = new Set<string>();
    for (let at = 0; at < keys.length; at += keysAtOnce) {
      const rows = await query
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
    return row === undefined ? undefined : toTokenRow(this.#dialect, row);
  }

  /** Yields all tokens by id, read in pages: limits are large, and reading many at once would delay every other call. */
  async *list(): AsyncGenerator<TokenRow> {
    for (let after = Number.MIN_SAFE_INTEGER; ; await nextTurn()) {
      const rows = await this.#dialect.query
        .selectFrom("token")
        .selectAll()
        .where("id", ">", after)
        .orderBy("id")
        .limit(rowsAtOnce)
        .execute();
      for (const row of rows) yield toTokenRow(this.#dialect, row);
      if (rows.length < rowsAtOnce) return;
      after = Number(rows.at(-1)?.id);
    }
  }

  /**
   * Adds a token. "taken": another token has the user name, as its user name or as its key. "confusable": another token has a user
   * name with the same skeleton. Unique indexes decide, so of two similar names added at the same time one is refused.
   */
  async insert(token: NewToken): Promise<Insertion> {
    const { username } = token;
    const columns = toTokenColumns(this.#dialect, token);
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
   * Creates row 1, unless it exists; of two servers that start together, only one creates it. `show` is awaited before the row is
   * committed: if it fails, or after a crash in between, there is no row, and the next start creates and shows new credentials.
   */
  insertSuper(token: NewToken, show: () => Promise<void>): Promise<void> {
    return this.#dialect.exclusively(superTokenScope, async (transaction) => {
      if (await hasToken(transaction, "id", superId)) return;
      const columns = toTokenColumns(this.#dialect, token);
      // Another token may have got a similar name before this row existed; that must not prevent a start.
      if (await hasToken(transaction, "username_skeleton", columns.username_skeleton))
        columns.username_skeleton = null;
      await transaction
        .insertInto("token")
        .values({ id: superId, ...columns })
        .execute();
      await this.#dialect.resetIdSequence(transaction, "token");
      await show();
    });
  }

  async update(id: number, change: TokenChange): Promise<void> {
    const { secretHash, limits, passwordHash, name } = change;
    await this.#dialect.query
      .updateTable("token")
      .set({
        ...(secretHash === undefined ? {} : { token_hash: secretHash }),
        ...(limits === undefined ? {} : { token_limit: this.#dialect.json(limits) }),
        ...(passwordHash === undefined ? {} : { password_hash: passwordHash }),
        ...(name === undefined ? {} : { name }),
      })
      .where("id", "=", id)
      .execute();
  }

  /** Replaces key, secret and password of row 1 in one statement. */
  /** Gives the Super Token other credentials, and leaves the note by which a server audits it. */
  async replaceSuper(token: Pick<NewToken, "key" | "secretHash" | "passwordHash">): Promise<void> {
    const value = this.#dialect.json({ at: new Date(this.#dialect.clock.now()).toISOString() });
    await this.#dialect.exclusively(superTokenScope, async (transaction) => {
      await transaction
        .updateTable("token")
        .set({ token_key: token.key, token_hash: token.secretHash, password_hash: token.passwordHash })
        .where("id", "=", superId)
        .execute();
      await transaction
        .insertInto("kv")
        .values({ namespace: superTokenRolls, key: token.key, value })
        .execute();
    });
  }

  async delete(id: number): Promise<number> {
    const { numDeletedRows } = await this.#dialect.query
      .deleteFrom("token")
      .where("id", "=", id)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  /** Counts the existing tokens that the token with this key created. */
  async countCreatedBy(key: string): Promise<number> {
    const { count } = await this.#dialect.query
      .selectFrom("token")
      .select(({ fn }) => fn.countAll().as("count"))
      .where("created_by", "=", key)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  async #one(compiled: CompiledQuery<Columns>, parameters: string[]): Promise<TokenRow | undefined> {
    // PostgreSQL has no text with NUL in it, so no row matches.
    if (parameters.some((value) => value.includes("\0"))) return undefined;
    const { rows } = await this.#dialect.query.executeQuery<Columns>({ ...compiled, parameters });
    return rows[0] === undefined ? undefined : toTokenRow(this.#dialect, rows[0]);
  }
}

/** `hasToken` returns whether a token has this value in an indexed column. */
async function hasToken(
  query: Kysely<Schema>,
  column: "id" | "token_key" | "username" | "username_skeleton",
  value: string | number | null,
): Promise<boolean> {
  const row = await query.selectFrom("token").select("id").where(column, "=", value).executeTakeFirst();
  return row !== undefined;
}

/** `superId` is the id of the Super Token's row. */
const superId = 1;

/** TokenRow is a row of the table `token`, with the same types on both databases. */
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
  /**
   * The key of the token that created it; null for the Super Token, for tokens that it created, and for rows older than this
   * column.
   */
  readonly createdBy: string | null;
  /** A label for people. */
  readonly name: string | null;
  /** Unix milliseconds; null for rows older than this column. */
  readonly createdAt: number | null;
  /** Unix milliseconds, as `TokenUseRows` stored it; null if the token was not used since this column exists. */
  readonly lastUsedAt: number | null;
}

type NewToken = Omit<TokenRow, "id" | "isSuper" | "version" | "createdAt" | "lastUsedAt">;
/** Columns are those of the table. */
type Columns = Selectable<Schema["token"]>;

function toTokenColumns(dialect: Dialect, token: NewToken) {
  return {
    token_key: token.key,
    token_hash: token.secretHash,
    time_stamp_from: token.from,
    time_stamp_to: token.to,
    token_limit: dialect.json(token.limits),
    username: token.username,
    password_hash: token.passwordHash,
    created_by: token.createdBy,
    username_skeleton: token.username === null ? null : skeletonOf(token.username),
    name: token.name,
    created_at: dialect.clock.now(),
  };
}

function toTokenRow(dialect: Dialect, row: Columns): TokenRow {
  return {
    id: Number(row.id),
    isSuper: Number(row.id) === superId,
    version: Number(row.version),
    key: row.token_key,
    secretHash: row.token_hash,
    from: toNumber(row.time_stamp_from),
    to: toNumber(row.time_stamp_to),
    limits: dialect.fromJson(row.token_limit),
    username: row.username,
    passwordHash: row.password_hash,
    createdBy: row.created_by,
    name: row.name,
    createdAt: toNumber(row.created_at),
    lastUsedAt: toNumber(row.last_used_at),
  };
}

function toNumber(value: number | bigint | null): number | null {
  return value === null ? null : Number(value);
}

/** The number of rows written at once. SQLite writes a whole row anew, with limits of up to 64 KiB, on the event loop. */
const usesAtOnce = 100;

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
    for (let at = 0; at < rows.length; at += usesAtOnce) {
      if (at > 0) await nextTurn();
      const values = rows
        .slice(at, at + usesAtOnce)
        .map(([id, usedAt]) => sql`(cast(${id} as bigint), cast(${usedAt} as bigint))`);
      await sql`UPDATE token SET last_used_at = used.column2
        FROM (VALUES ${sql.join(values)}) AS used WHERE token.id = used.column1
        AND (token.last_used_at IS NULL OR token.last_used_at < used.column2)`.execute(this.#dialect.query);
    }
  }
}
