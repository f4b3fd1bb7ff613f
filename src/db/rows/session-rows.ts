import { type SqlBool, sql } from "kysely";
import { Collection, type Condition } from "../collection.ts";
import type { Dialect } from "../dialect.ts";

/** SessionValue is the row of a sign-in with a password in the console. Times are Unix milliseconds. */
export interface SessionValue {
  /** The key of the token that signed in. */
  readonly by: string;
  /** Of the secret of the session. */
  readonly secretHash: string;
  /** The hash of the stored password hash: the session ends with the password that began it. */
  readonly password: string;
  /** What the client says that it is. */
  readonly device: string | null;
  /** The address that used it last. */
  readonly address: string;
  readonly created: number;
  readonly used: number;
  readonly expires: number;
}

/** SessionRows are the sign-ins with a password in the console, by id. */
export class SessionRows {
  readonly #dialect: Dialect;
  readonly #sessions: Collection<SessionValue>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#sessions = new Collection(dialect, "sessions");
  }

  /** Stores a new session. Of more than `max` of the token, and of those that have expired, the rows are removed. */
  insert(id: string, session: SessionValue, max: number): Promise<void> {
    return this.#sessions.exclusively(async (sessions) => {
      const { jsonInteger } = this.#dialect;
      await sessions.deleteWhere(sql<SqlBool>`${jsonInteger("value", "expires")} <= ${session.created}`);
      const own = [...(await sessions.list({ where: this.#isOf(session.by), order: "age" })).keys()];
      await sessions.delete(...own.slice(0, Math.max(0, own.length + 1 - max)));
      await sessions.insert(id, session);
    });
  }

  get(id: string): Promise<SessionValue | undefined> {
    return this.#sessions.get(id);
  }

  getMany(ids: readonly string[]): Promise<Map<string, SessionValue>> {
    return this.#sessions.getMany(ids);
  }

  /** The sessions of a token, the oldest first. */
  of(tokenKey: string): Promise<Map<string, SessionValue>> {
    return this.#sessions.list({ where: this.#isOf(tokenKey), order: "age" });
  }

  /** Records a use. A session that was ended meanwhile stays ended. */
  async used(id: string, session: SessionValue): Promise<void> {
    await this.#sessions.update(id, session);
  }

  /** Ends one session of a token, and returns how many that were. */
  end(tokenKey: string, id: string): Promise<number> {
    return this.#sessions.deleteWhere(sql<SqlBool>`key = ${id} and ${this.#isOf(tokenKey)}`);
  }

  /** Ends all sessions of a token but the one that is kept, and returns how many. */
  endAll(tokenKey: string, kept = ""): Promise<number> {
    return this.#sessions.deleteWhere(sql<SqlBool>`key <> ${kept} and ${this.#isOf(tokenKey)}`);
  }

  #isOf(tokenKey: string): Condition {
    return sql<SqlBool>`${this.#dialect.jsonText("value", "by")} = ${tokenKey}`;
  }
}
