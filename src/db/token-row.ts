import type { Selectable } from "kysely";
import { skeletonOf } from "../base/skeleton.ts";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";

/** `superId` is the id of the Super Token's row. */
export const superId = 1;

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

export type NewToken = Omit<TokenRow, "id" | "isSuper" | "version" | "createdAt" | "lastUsedAt">;
/** Columns are those of the table. */
export type Columns = Selectable<Schema["token"]>;

export function toTokenColumns(dialect: Dialect, token: NewToken) {
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

export function toTokenRow(dialect: Dialect, row: Columns): TokenRow {
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
