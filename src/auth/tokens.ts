import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { randomText } from "../base/random.ts";
import type { Database } from "../db/database.ts";
import type { TokenRow } from "../db/token-rows.ts";
import type { Caller } from "./caller.ts";
import { keyLength, secretLength } from "./credentials.ts";
import { Denied } from "./denied.ts";
import { limitsCover, type tokenLimit, toLimits } from "./permission.ts";
import { hashPassword, hashSecret } from "./secrets.ts";

export interface KeyAndSecret {
  readonly key: string;
  readonly secret: string;
}

type TokenLimit = z.output<typeof tokenLimit>;

export interface TokenCreation {
  readonly token_limit: TokenLimit;
  readonly username?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly timestamp_from?: number | null | undefined;
  readonly timestamp_to?: number | null | undefined;
}

/** A token as its owner and the Super Token may see it: everything but the hashes. */
export interface TokenRecord {
  readonly version: number;
  readonly token_key: string;
  readonly timestamp_from: number | null;
  readonly timestamp_to: number | null;
  readonly token_limit: unknown;
  readonly username: string | null;
}

/** Makes, shows and changes tokens. Nothing is cached: a change is in force for the next call, on every server of the database. */
export class Tokens {
  constructor(
    private readonly database: Database,
    /** Called when a token that existed lost something. */
    private readonly changed: () => void,
  ) {}

  async create(creator: Caller, wish: TokenCreation): Promise<KeyAndSecret> {
    const username = wish.username ?? null;
    const password = wish.password ?? null;
    const from = wish.timestamp_from ?? null;
    const to = wish.timestamp_to ?? null;
    if (password !== null && username === null) {
      throw new Fault("InvalidInput", "a password needs a username beside it", { field: "username" });
    }
    if (from !== null && to !== null && from >= to) {
      throw new Fault("InvalidInput", "timestamp_to must be later than timestamp_from", {
        field: "timestamp_to",
      });
    }
    refuseMoreThan(creator, wish.token_limit, to);
    const made = { key: randomText(keyLength), secret: randomText(secretLength) };
    const inserted = await this.database.tokens.insert({
      key: made.key,
      secretHash: hashSecret(made.secret),
      from,
      to,
      limits: wish.token_limit,
      username,
      passwordHash: password === null ? null : await hashPassword(password),
    });
    if (!inserted)
      throw new Fault("InvalidInput", `the username ${username} is taken`, { field: "username" });
    return made;
  }

  /** By key, else by user name. */
  async get(target: string): Promise<TokenRecord> {
    return toRecord(await this.#find(target));
  }

  async list(): Promise<TokenRecord[]> {
    return (await this.database.tokens.list()).map(toRecord);
  }

  async edit(target: string, limits: TokenLimit): Promise<{ id: number; token_key: string }> {
    const row = await this.#find(target);
    if (row.isSuper) throw new Denied("missing_permission", "the Super Token cannot be edited");
    await this.database.tokens.update(row.id, { limits });
    this.changed();
    return { id: row.id, token_key: row.key };
  }

  async delete(target: string): Promise<{ rows_affected: number; matched_by: "token_key" | "username" }> {
    const row = await this.#find(target);
    if (row.isSuper) throw new Denied("missing_permission", "the Super Token cannot be deleted");
    const rows_affected = await this.database.tokens.delete(row.id);
    this.changed();
    return { rows_affected, matched_by: row.key === target ? "token_key" : "username" };
  }

  async changePassword(target: string, password: string): Promise<void> {
    const row = await this.#find(target);
    if (row.username === null) {
      throw new Fault("InvalidInput", "this token has no username, so a password could not be used", {
        field: "target_token",
      });
    }
    await this.database.tokens.update(row.id, { passwordHash: await hashPassword(password) });
    this.changed();
  }

  async rollSecret(target: string): Promise<KeyAndSecret> {
    const row = await this.#find(target);
    const secret = randomText(secretLength);
    await this.database.tokens.update(row.id, { secretHash: hashSecret(secret) });
    this.changed();
    return { key: row.key, secret };
  }

  async #find(target: string): Promise<TokenRow> {
    const row = (await this.database.tokens.byKey(target)) ?? (await this.database.tokens.byUsername(target));
    if (row === undefined)
      throw new Fault("NotFound", "no token has this key or username", { field: "target_token" });
    return row;
  }
}

/** A token can hand out only what it holds, and no longer than it lives. */
function refuseMoreThan(creator: Caller, limits: TokenLimit, to: number | null): void {
  if (creator.isSuper) return;
  if (!limitsCover(creator.limits, toLimits(limits))) {
    throw new Denied(
      "missing_permission",
      "a token can only hand out permissions that it holds itself, in scopes that it holds them in",
      {
        field: "token_limit",
      },
    );
  }
  if (creator.until !== null && (to === null || to > creator.until)) {
    throw new Denied(
      "missing_permission",
      `a token cannot outlive its creator; timestamp_to must be ${creator.until} at the latest`,
      {
        field: "timestamp_to",
      },
    );
  }
}

function toRecord(row: TokenRow): TokenRecord {
  return {
    version: row.version,
    token_key: row.key,
    timestamp_from: row.from,
    timestamp_to: row.to,
    token_limit: row.limits,
    username: row.username,
  };
}
