import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import { invisible } from "../base/visible-text.ts";
import type { Database } from "../db/database.ts";
import type { TokenRow } from "../db/rows/token-rows.ts";
import { outsideLifetime } from "./authenticator.ts";
import type { Caller } from "./caller.ts";
import {
  hashSecret,
  keyLength,
  keyOfWholeToken,
  keyPattern,
  type S3Credentials,
  type S3Secrets,
  secretLength,
} from "./credentials.ts";
import { type Grant, grantingLimit, limitsCover, type tokenLimit, toLimits } from "./limit.ts";
import { Denied } from "./need.ts";
import { hashPassword, type PasswordCost } from "./passwords.ts";
import type { Scope } from "./permission.ts";
import type { TokenUses } from "./token-uses.ts";

interface KeyAndSecret {
  readonly key: string;
  readonly secret: string;
}

/** The limits of a token as JSON. Larger ones from before this bound go on working. */
const maxLimitBytes = 64 * 1024;

type TokenLimit = z.output<typeof tokenLimit>;

interface TokenCreation {
  readonly token_limit: TokenLimit;
  readonly username?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly timestamp_from?: number | null | undefined;
  readonly timestamp_to?: number | null | undefined;
  readonly name?: string | null | undefined;
}

/** TokenEdit is what `Tokens.edit` changes: all limits, and the name unless it is undefined. */
interface TokenEdit {
  readonly limits: TokenLimit;
  readonly name?: string | null | undefined;
}

/** A token as its owner and the Super Token may see it: everything but the hashes. */
export interface TokenRecord {
  readonly version: number;
  readonly token_key: string;
  readonly timestamp_from: number | null;
  readonly timestamp_to: number | null;
  readonly token_limit: unknown;
  readonly username: string | null;
  readonly created_by: string | null;
  readonly name: string | null;
  readonly created_at: number | null;
  readonly last_used_at: number | null;
  readonly super?: true;
}

interface TokenDeletion {
  readonly token_key: string;
  readonly rows_affected: number;
  readonly matched_by: "token_key" | "username";
  readonly created_tokens_left: number;
}

interface TokensOptions {
  readonly uses: TokenUses;
  readonly s3Secrets: S3Secrets;
  /** Called when a token that existed lost something. */
  readonly onChanged: () => void;
  readonly passwordCost: PasswordCost | undefined;
}

/** Makes, shows and changes tokens. Nothing is cached: a change is in force for the next call, on every server of the database. */
export class Tokens {
  readonly #database: Database;
  readonly #uses: TokenUses;
  readonly #changed: () => void;
  readonly #passwordCost: PasswordCost | undefined;
  readonly #s3Secrets: S3Secrets;

  constructor(database: Database, { uses, s3Secrets, onChanged, passwordCost }: TokensOptions) {
    this.#database = database;
    this.#uses = uses;
    this.#s3Secrets = s3Secrets;
    this.#changed = onChanged;
    this.#passwordCost = passwordCost;
  }

  async create(creator: Caller, wish: TokenCreation): Promise<KeyAndSecret> {
    const username = wish.username ?? null;
    const password = wish.password ?? null;
    const from = wish.timestamp_from ?? null;
    const to = wish.timestamp_to ?? null;
    if (password !== null && username === null) {
      throw new Fault("InvalidInput", "a password needs a username", { field: "username" });
    }
    if (from !== null && to !== null && from >= to) {
      throw new Fault("InvalidInput", "timestamp_to must be later than timestamp_from", {
        field: "timestamp_to",
      });
    }
    refuseTooLarge(wish.token_limit);
    refuseMoreThan(creator, wish.token_limit, to);
    const made = { key: await newKey(this.#database), secret: randomText(secretLength) };
    const row = {
      key: made.key,
      secretHash: hashSecret(made.secret),
      from,
      to,
      limits: wish.token_limit,
      username,
      passwordHash: password === null ? null : await hashPassword(password, this.#passwordCost),
      createdBy: creator.isSuper ? null : creator.key,
      name: wish.name ?? null,
    };
    const outcome = await this.#database.tokens.insert(row);
    if (outcome !== "inserted") throw nameRefusal(username, outcome);
    return made;
  }

  /** The token of exactly this key: a caller's own, whatever user names other tokens have. */
  async own(key: string): Promise<TokenRecord> {
    const row = await this.#database.tokens.byKey(key);
    if (row === undefined) throw notFound();
    return this.#toRecord(row);
  }

  /** By key, else by user name. */
  async get(target: string): Promise<TokenRecord> {
    return this.#toRecord(await this.#find(target));
  }

  /** Whether a token holds a permission; the caller's own, or any by key or user name. */
  async explain(
    token: { readonly key: string } | { readonly target: string },
    wanted: { readonly grant: Grant; readonly scope: Scope },
  ): Promise<Explanation & { readonly token_key: string }> {
    const row =
      "key" in token ? await this.#database.tokens.byKey(token.key) : await this.#find(token.target);
    if (row === undefined) throw notFound();
    return { token_key: row.key, ...explain(row, wanted, this.#database.clock.now()) };
  }

  async *list(): AsyncGenerator<TokenRecord> {
    for await (const row of this.#database.tokens.list()) yield this.#toRecord(row);
  }

  async edit(target: string, { limits, name }: TokenEdit): Promise<{ id: number; token_key: string }> {
    refuseTooLarge(limits);
    const row = await this.#find(target);
    if (row.isSuper) throw new Denied("missing_permission", "the Super Token cannot be edited");
    await this.#database.tokens.update(row.id, { limits, ...(name === undefined ? {} : { name }) });
    this.#changed();
    return { id: row.id, token_key: row.key };
  }

  async delete(target: string): Promise<TokenDeletion> {
    const row = await this.#find(target);
    if (row.isSuper) throw new Denied("missing_permission", "the Super Token cannot be deleted");
    const rows_affected = await this.#database.tokens.delete(row.id);
    this.#changed();
    return {
      token_key: row.key,
      rows_affected,
      matched_by: row.key === target ? "token_key" : "username",
      created_tokens_left: await this.#database.tokens.countCreatedBy(row.key),
    };
  }

  /** Returns the token's key. */
  async changePassword(target: string, password: string): Promise<string> {
    const row = await this.#find(target);
    if (row.username === null) {
      throw new Fault("InvalidInput", "this token has no username, so a password could not be used", {
        field: "target_token",
      });
    }
    await this.#database.tokens.update(row.id, {
      passwordHash: await hashPassword(password, this.#passwordCost),
    });
    this.#changed();
    return row.key;
  }

  /** Changes a password that its owner has proven, unless it was changed meanwhile. Returns the new hash. */
  async changeOwnPassword(
    key: string,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<string> {
    const passwordHash = await hashPassword(to, this.#passwordCost);
    const row = await this.#database.tokens.byKey(key);
    if (row === undefined) throw notFound();
    if (row.passwordHash !== from)
      throw new Denied("invalid_credentials", "the password was changed meanwhile; nothing was changed");
    await this.#database.tokens.update(row.id, { passwordHash });
    this.#changed();
    return passwordHash;
  }

  async rollSecret(target: string): Promise<KeyAndSecret> {
    const row = await this.#find(target);
    const secret = randomText(secretLength);
    await this.#database.tokens.update(row.id, { secretHash: hashSecret(secret) });
    this.#changed();
    return { key: row.key, secret };
  }

  /** Returns what the token's owner signs requests of S3 with. */
  async s3Credentials(key: string): Promise<S3Credentials> {
    const row = await this.#database.tokens.byKey(key);
    if (row === undefined) throw notFound();
    return this.#s3Secrets.credentialsOf(row);
  }

  #toRecord(row: TokenRow): TokenRecord {
    return {
      version: row.version,
      token_key: row.key,
      timestamp_from: row.from,
      timestamp_to: row.to,
      token_limit: row.limits,
      username: row.username,
      created_by: row.createdBy,
      name: row.name,
      created_at: row.createdAt,
      last_used_at: this.#uses.lastUse(row.id, row.lastUsedAt),
      ...(row.isSuper && { super: true }),
    };
  }

  /** Refuses a text that is one token's key and another's user name: acting on the wrong one cannot be undone. */
  async #find(target: string): Promise<TokenRow> {
    const byKey = await this.#database.tokens.byKey(target);
    const byUsername = await this.#database.tokens.byUsername(target);
    if (byKey !== undefined && byUsername !== undefined && byKey.id !== byUsername.id)
      throw new Fault(
        "InvalidInput",
        `${target} is the key of one token and the user name of another; to reach the first, delete the second by its own key, ${byUsername.key}`,
        { field: "target_token", reason: "ambiguous", username_of: byUsername.key },
      );
    const row = byKey ?? byUsername;
    if (row === undefined) throw notFound();
    return row;
  }
}

/** A random key that is not a token's user name. Names that look like a key are refused now; older ones may exist. */
export async function newKey(database: Database): Promise<string> {
  for (;;) {
    const key = randomText(keyLength);
    if ((await database.tokens.byUsername(key)) === undefined) return key;
  }
}

function notFound(): Fault {
  return new Fault("NotFound", "no token has this key or username", { field: "target_token" });
}

function nameRefusal(username: string | null, reason: "taken" | "confusable"): Fault {
  const detail =
    reason === "taken"
      ? `the username ${username} is taken`
      : `the username ${username} looks like one that exists; choose one that is easy to tell apart`;
  return new Fault("InvalidInput", detail, { field: "username", reason });
}

/** Limits are read for every call of their token, and for all tokens when these are listed. */
function refuseTooLarge(limits: TokenLimit): void {
  const bytes = Buffer.byteLength(JSON.stringify(limits));
  if (bytes <= maxLimitBytes) return;
  throw new Fault(
    "InvalidInput",
    `token_limit has ${bytes} bytes as JSON, and the maximum is ${maxLimitBytes}; use fewer or shorter scopes, or wildcards such as "site-*"`,
    { field: "token_limit", bytes, limit: maxLimitBytes },
  );
}

/** A token can hand out only what it holds, and no longer than it lives. */
function refuseMoreThan(creator: Caller, limits: TokenLimit, to: number | null): void {
  if (creator.isSuper) return;
  if (!limitsCover(creator.limits, toLimits(limits))) {
    throw new Denied(
      "missing_permission",
      "a token can grant only permissions that it holds, in the same scopes",
      {
        field: "token_limit",
      },
    );
  }
  if (creator.until !== null && (to === null || to > creator.until)) {
    throw new Denied(
      "missing_permission",
      `a token cannot outlive its creator; timestamp_to must be ${creator.until} at the latest`,
      { field: "timestamp_to", limit: creator.until },
    );
  }
}

/** Explanation is whether a token holds a permission in a scope, and by which of its limits. */
interface Explanation {
  readonly allowed: boolean;
  readonly reason: "super_token" | "granted" | "not_granted" | "expired" | "not_yet_valid";
  /** The first limit that grants it, as an index of `token_limit`; also of a token outside its lifetime. */
  readonly limit: number | null;
  /** Limits that grant the permission, but not in this scope. */
  readonly elsewhere: number[];
}

/** `explain` answers as `authorise` decides. A permission for names that match a pattern is asked for by its pattern. */
function explain(
  row: Pick<TokenRow, "isSuper" | "limits" | "from" | "to">,
  wanted: { readonly grant: Grant; readonly scope: Scope },
  now: number,
): Explanation {
  const ended = outsideLifetime(row, now)?.reason;
  if (row.isSuper)
    return { allowed: ended === undefined, reason: ended ?? "super_token", limit: null, elsewhere: [] };
  const limits = toLimits(row.limits);
  const limit = grantingLimit(limits, wanted.grant, wanted.scope);
  const anywhere = limits.map(({ permissions }) => [{ scopes: [wanted.scope], permissions }]);
  return {
    allowed: limit !== undefined && ended === undefined,
    reason: ended ?? (limit === undefined ? "not_granted" : "granted"),
    limit: limit ?? null,
    elsewhere:
      limit === undefined
        ? anywhere.flatMap((one, at) =>
            grantingLimit(one, wanted.grant, wanted.scope) === undefined ? [] : [at],
          )
        : [],
  };
}

/** Characters of which nobody knows what they look like elsewhere. */
const unassigned = /[\p{Co}\p{Cn}]/u;

/** The reason why a new token cannot have this user name, whatever other tokens exist; undefined if it can. */
export function usernameProblem(name: string): string | undefined {
  const problem = characterProblem(name);
  if (problem !== undefined) return problem;
  if (mixesScripts(name))
    return "must not mix writing systems, such as Latin and Cyrillic; write it in one of them";
  // A `target_token` of this form is taken for a whole token, so the user name would never be found.
  if (keyOfWholeToken(name) !== undefined) return "must not have the form of <key>:<secret>";
  if (keyPattern.test(name))
    return "must not have the form of a token key (16 letters and digits); add or remove a character";
  return undefined;
}

/**
 * The reason why a token cannot have this text as its name; undefined if it can. The name is a label: nothing is looked up by it, so
 * it may equal others and mix writing systems.
 */
export function labelProblem(name: string): string | undefined {
  if (keyOfWholeToken(name) !== undefined)
    return "must not be a token: it is shown to everyone who can list the tokens";
  return characterProblem(name);
}

function characterProblem(name: string): string | undefined {
  if (invisible.test(name)) return "must not contain control characters or other invisible characters";
  if (unassigned.test(name)) return "must not contain unassigned or private-use Unicode characters";
  return name.trim() === name ? undefined : "must not begin or end with white space";
}

/** Writing systems by their ISO 15924 codes, each of which a name is written in alone. */
const alone =
  "Latn Arab Armn Beng Cher Copt Cyrl Deva Ethi Geor Grek Gujr Guru Hebr Khmr Knda Laoo Lisu Mlym Mymr Orya Sinh Taml Telu Thaa Thai Tibt".split(
    " ",
  );
/** Those that one language uses together: Japanese, Chinese and Korean, beside which Latin letters are common. */
const together = ["Latn Hani Hira Kana", "Latn Hani Bopo", "Latn Hani Hang"].map((codes) => codes.split(" "));

const mixes = [...alone.map((code) => [code]), ...together].map((codes) => {
  const classes = [...codes, "Zyyy", "Zinh"].map((code) => `\\p{scx=${code}}`);
  return new RegExp(`^[${classes.join("")}]*$`, "u");
});

/** Names in one of the writing systems that are not listed above. */
const unlisted = new RegExp(
  `^[^${[...alone, ...together.flat()].map((code) => `\\p{sc=${code}}`).join("")}]*$`,
  "u",
);

/**
 * Whether a text mixes writing systems that nobody mixes except to deceive, such as Latin and Cyrillic. As "highly restrictive"
 * in UTS #39. Digits, punctuation and symbols belong to all of them.
 */
function mixesScripts(text: string): boolean {
  const plain = text.normalize("NFKC");
  return !unlisted.test(plain) && !mixes.some((mix) => mix.test(plain));
}
