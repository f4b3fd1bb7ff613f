// Auth is the only module that refuses a caller. The Authenticator of this file checks the credentials of every
// protocol (credentials.ts, passwords.ts, with failure-limiter.ts, which says how long a refusal waits) and the times
// between which a token is valid, and returns a Caller (caller.ts); http/request/authentication.ts reads the headers
// for Basic and Bearer. need.ts compares its limits (limit.ts, also their JSON; permission.ts has the names) with what
// a method requires, and throws Denied. tokens.ts makes and changes tokens, with the rules for their names;
// super-token.ts makes the first one. sessions.ts has what stands for a user name and a password
// in the console, second-factor.ts the codes that are asked for with a password. audit-log.ts records every change, token-uses.ts when a token was used.

import type { Clock } from "../base/clock.ts";
import { Fault } from "../base/fault.ts";
import type { Database } from "../db/database.ts";
import type { TokenRow } from "../db/rows/token-rows.ts";
import type { LogHub } from "../log/hub.ts";
import type { AuditLog, SignInFailure } from "./audit-log.ts";
import { type Caller, type Peer, whoFields } from "./caller.ts";
import {
  type Candidates,
  type Credentials,
  hashesMatch,
  hashSecret,
  keyOfWholeToken,
  noSecretHash,
  type S3Secrets,
} from "./credentials.ts";
import type { FailureLimiter } from "./failure-limiter.ts";
import { toLimits } from "./limit.ts";
import { anyToken, authorise, Denied, isAuthorised, isOpen, type Need, superTokenRequired } from "./need.ts";
import type { Passwords } from "./passwords.ts";
import type { SecondFactors } from "./second-factor.ts";
import { type Sessions, sessionIdOf } from "./sessions.ts";
import type { TokenUses } from "./token-uses.ts";

/** CredentialsRejected is thrown for an unknown name or a wrong secret or password. */
export class CredentialsRejected extends Denied {
  constructor(
    detail: string,
    /** How long the answer must be held back, because its address guesses. */
    readonly delayMs: number,
    reason: "invalid_credentials" | "wrong_code" = "invalid_credentials",
  ) {
    super(reason, detail);
  }
}

/** LinkPassword is a password that was given for a signed link. */
interface LinkPassword {
  /** The id of the link, for the log. */
  readonly id: string;
  /** Of the right one. */
  readonly hash: string;
  readonly password: string;
}

/** SignedCredentials are those of a request that is signed with the S3 secret of a token. */
interface SignedCredentials {
  /** The key of the token. */
  readonly key: string;
  /** Whether this secret makes the signature of the request. It takes as long for every secret. */
  isSignedWith(secret: string): boolean;
}

/** Proven is a token whose credentials are right, and the form that they had. */
interface Proven extends Pick<Caller, "by" | "session"> {
  readonly row: TokenRow;
}

/** RejectedName is what the log names of refused credentials. */
type RejectedName = Pick<SignInFailure, "token_key" | "username" | "link">;

interface AuthenticatorOptions {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly failures: FailureLimiter;
  readonly hub: LogHub;
  readonly uses: TokenUses;
  readonly audit: AuditLog;
  readonly s3Secrets: S3Secrets;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly clock: Clock;
}

/** Authenticator checks every credential of every protocol. */
export class Authenticator {
  readonly #database: Database;
  readonly #passwords: Passwords;
  readonly #failures: FailureLimiter;
  readonly #uses: TokenUses;
  readonly #log;
  readonly #audit: AuditLog;
  readonly #s3Secrets: S3Secrets;
  readonly #sessions: Sessions;
  readonly #secondFactors: SecondFactors;
  readonly #clock: Clock;
  /** Cached rows come back as the same objects; their limits are read once. */
  readonly #callers = new WeakMap<TokenRow, Caller>();

  constructor(options: AuthenticatorOptions) {
    const { database, passwords, failures, hub, uses, audit, s3Secrets, sessions, secondFactors } = options;
    this.#database = database;
    this.#passwords = passwords;
    this.#failures = failures;
    this.#uses = uses;
    this.#log = hub.logger("token");
    this.#audit = audit;
    this.#s3Secrets = s3Secrets;
    this.#sessions = sessions;
    this.#secondFactors = secondFactors;
    this.#clock = options.clock;
  }

  /**
   * authenticateSync returns the caller of credentials that satisfy `need`, without waiting, if they are a key and secret whose row is
   * cached; throws Denied if they do not satisfy `need`. Undefined if only `authenticate` can answer.
   */
  authenticateSync(credentials: Credentials, need: Need): Caller | undefined {
    const row = this.#proveSync(credentials);
    return row && this.#authorised({ row, by: credentials.by }, need);
  }

  /** authenticate resolves to the caller of the first credentials that are right, if it satisfies `need`; throws Denied otherwise. */
  async authenticate(candidates: Candidates, need: Need, peer: Peer): Promise<Caller> {
    for (const credentials of candidates) {
      const proven = await this.#prove(credentials, peer);
      if (proven === undefined) continue;
      this.#auditOutside(proven, peer);
      return this.#authorised(proven, need);
    }
    const [first, last = first] = candidates;
    // Unknown names and wrong secrets are answered alike, so that nobody learns whether a token exists.
    const detail = need.kind === "super" ? superTokenRequired : "Invalid credentials";
    throw this.#rejected(rejectedName(last), detail, peer.address);
  }

  /**
   * authenticateSignedSync returns the caller that signed a request, without waiting, if the row of its token is cached. Undefined if
   * only `authenticateSigned` can answer.
   */
  authenticateSignedSync(signed: SignedCredentials): Caller | undefined {
    const row = this.#database.tokens.cachedByKey(signed.key);
    if (row === undefined || !signed.isSignedWith(this.#s3Secrets.secretOf(row))) return undefined;
    // A token that has expired is refused by `authenticateSigned`, which knows the address for the audit.
    const isOutside = outsideLifetime(row, this.#clock.now()) !== undefined;
    return isOutside ? undefined : this.#authorised({ row, by: "key" }, anyToken);
  }

  /** authenticateSigned resolves to the caller that signed a request; throws Denied if no valid token did. */
  async authenticateSigned(signed: SignedCredentials, { address }: Pick<Peer, "address">): Promise<Caller> {
    const row = await this.#proveSigned(signed);
    if (row === undefined)
      throw this.#rejected(
        rejectedName({ by: "key", name: signed.key, proof: "" }),
        "no valid token signed the request; `node-server tokens s3` shows the access key and the secret key of a token",
        address,
      );
    const proven: Proven = { row, by: "key" };
    this.#auditOutside(proven, { address });
    return this.#authorised(proven, anyToken);
  }

  #authorised(proven: Proven, need: Need): Caller {
    const { row } = proven;
    const caller = this.#callerOf(proven);
    const now = this.#clock.now();
    const outside = outsideLifetime(row, now);
    if (outside !== undefined) {
      const { reason, detail } = outside;
      // Where the Super Token is required, every other token gets the same text, expired ones included.
      throw new Denied(reason, need.kind === "super" && !caller.isSuper ? superTokenRequired : detail);
    }
    authorise(caller, need);
    this.#uses.record(row.id, now);
    return caller;
  }

  /** assertStillAuthorised throws Denied unless the database would authorise the caller now. For work that is done after a wait. */
  async assertStillAuthorised(caller: Caller, need: Need): Promise<void> {
    if (isOpen(need)) return;
    const { tokens } = this.#database;
    const row = tokens.cachedByKey(caller.key) ?? (await tokens.byKey(caller.key));
    this.#assertAuthorises(await this.#unlessEnded(caller, row), caller, need);
  }

  /**
   * stillAuthorised returns whether `assertStillAuthorised` would pass, for several callers by one query. For work that outlives the
   * check of its token, such as subscriptions.
   */
  async stillAuthorised(
    asked: ReadonlyArray<{ readonly caller: Caller; readonly need: Need }>,
  ): Promise<boolean[]> {
    const rows = await this.#database.tokens.byKeys(asked.map(({ caller }) => caller.key));
    const live = await this.#sessions.live(asked.flatMap(({ caller }) => caller.session ?? []));
    return asked.map(({ caller, need }) => {
      try {
        const hasEnded = caller.session !== undefined && !live.has(caller.session);
        if (!isOpen(need)) this.#assertAuthorises(hasEnded ? undefined : rows.get(caller.key), caller, need);
        return true;
      } catch (error) {
        if (error instanceof Denied) return false;
        throw error;
      }
    });
  }

  /** The token of a caller; undefined if the caller's session has ended. */
  async #unlessEnded({ session }: Caller, row: TokenRow | undefined): Promise<TokenRow | undefined> {
    return session === undefined || (await this.#sessions.live([session])).has(session) ? row : undefined;
  }

  #assertAuthorises(row: TokenRow | undefined, caller: Caller, need: Need): void {
    if (row === undefined || proofOf(row, caller.by) !== caller.proof)
      throw new Denied(
        "invalid_credentials",
        "the token was deleted or changed meanwhile; nothing was changed",
      );
    // A stream that stays open uses its token.
    this.#authorised({ row, by: caller.by, session: caller.session }, need);
  }

  /** isStillAuthorised returns whether `assertStillAuthorised` would pass. */
  async isStillAuthorised(caller: Caller, need: Need): Promise<boolean> {
    try {
      await this.assertStillAuthorised(caller, need);
      return true;
    } catch (error) {
      if (error instanceof Denied) return false;
      throw error;
    }
  }

  /** Resolves if the password of a signed link is right; throws CredentialsRejected otherwise. */
  async proveLinkPassword({ id, hash, password }: LinkPassword, peer: Peer): Promise<void> {
    if (await this.#passwords.matches({ name: `link ${id}`, proof: password }, hash, peer)) return;
    throw this.#rejected({ link: id }, "Invalid password", peer.address);
  }

  /** Returns the stored hash of the caller's own password if the given one is right; throws CredentialsRejected otherwise. */
  async proveOwnPassword({ key, username }: Caller, password: string, peer: Peer): Promise<string> {
    const hash = (await this.#database.tokens.byKey(key))?.passwordHash ?? null;
    if (username === null || hash === null)
      throw new Fault("InvalidInput", "this token has no password; the Super Token can give it one", {
        field: "old_password",
      });
    if (await this.#matches({ name: username, proof: password }, hash, peer)) return hash;
    throw this.#rejected({ username }, "the present password is wrong", peer.address);
  }

  /** Resolves if the caller's token takes no codes, or this one is right; throws Denied otherwise. A code is used up. */
  async proveCode({ key, username }: Caller, code: string | undefined, { address }: Peer): Promise<void> {
    const verdict = await this.#secondFactors.check(key, code);
    const who = { username: username ?? "" };
    switch (verdict.kind) {
      case "off":
      case "right":
        return;
      case "missing":
        throw new Denied("code_missing", "send the code of your authenticator app, or a recovery code, too");
      case "blocked":
        this.#audit.signInFailed({ ...who, address, reason: "too_many_codes" });
        throw new Denied(
          "too_many_codes",
          `too many codes were wrong; try again after ${new Date(verdict.until).toISOString()}, or ask the operator for \`node-server tokens reset\``,
          { retry_at: verdict.until },
        );
      case "wrong":
        throw this.#rejected(who, "the code is wrong, or was used before", address, "wrong_code");
    }
  }

  /** Checks a password, unless too many of the same batch were wrong. */
  async #matches(
    login: { readonly name: string; readonly proof: string },
    hash: string | null,
    peer: Peer,
  ): Promise<boolean> {
    if (peer.failed?.has(login.name, hash)) return false;
    const isRight = await this.#passwords.matches(login, hash, peer);
    if (!isRight) peer.failed?.add(login.name, hash);
    return isRight;
  }

  #proveSync({ by, name, proof }: Credentials): TokenRow | undefined {
    if (by !== "key") return undefined;
    const row = this.#database.tokens.cachedByKey(name);
    // Compared also without a row, so that a wrong secret takes as long for every key.
    const isRight = hashesMatch(hashSecret(proof), row?.secretHash ?? noSecretHash);
    // A token that has expired is refused by `authenticate`, which knows the address for the audit.
    return isRight && row !== undefined && outsideLifetime(row, this.#clock.now()) === undefined
      ? row
      : undefined;
  }

  /** Reads the whole row only once the secret or password is proven, so that a rejection takes as long for every name. */
  async #prove({ by, name, proof }: Credentials, peer: Peer): Promise<Proven | undefined> {
    const { tokens } = this.#database;
    const id = by === "key" ? sessionIdOf(name) : undefined;
    if (id !== undefined) {
      const proven = await this.#sessions.prove(id, proof, peer.address);
      return proven && { row: proven.row, by: "username", session: id };
    }
    if (by === "key") {
      const given = hashSecret(proof);
      const row = await tokens.byKeyWithSecret(name, given);
      const isRight = hashesMatch(given, row?.secretHash ?? noSecretHash);
      return isRight && row !== undefined ? { row, by } : undefined;
    }
    const stored = await tokens.passwordOf(name);
    const hash = stored?.passwordHash ?? null;
    if (!(await this.#matches({ name, proof }, hash, peer))) return undefined;
    const row = stored === undefined ? undefined : await tokens.byKey(stored.key);
    // The password was changed, or the token deleted, during the check.
    return row !== undefined && row.passwordHash === hash ? { row, by } : undefined;
  }

  /** Reads the whole row only once the signature is proven, as `#prove` does. */
  async #proveSigned(signed: SignedCredentials): Promise<TokenRow | undefined> {
    const { key } = signed;
    const { tokens } = this.#database;
    const known = tokens.cachedByKey(key);
    const secretHash = known?.secretHash ?? (await tokens.secretHashOf(key));
    const isRight = signed.isSignedWith(
      this.#s3Secrets.secretOf({ key, secretHash: secretHash ?? noSecretHash }),
    );
    if (!isRight || secretHash === undefined) return undefined;
    return known ?? (await tokens.byKeyWithSecret(key, secretHash));
  }

  #callerOf(proven: Proven): Caller {
    const { row, by, session } = proven;
    const known = this.#callers.get(row);
    if (known?.by === by && known.session === session) return known;
    const caller = toCaller(proven);
    this.#callers.set(row, caller);
    return caller;
  }

  /** Records the use of a token that has expired or is not valid yet. */
  #auditOutside(proven: Proven, { address }: Pick<Peer, "address">): void {
    const outside = outsideLifetime(proven.row, this.#clock.now());
    if (outside === undefined) return;
    this.#audit.signInFailed({ ...whoFields(this.#callerOf(proven)), address, reason: outside.reason });
  }

  #rejected(
    who: RejectedName,
    detail: string,
    address: string,
    reason: "invalid_credentials" | "wrong_code" = "invalid_credentials",
  ): CredentialsRejected {
    const { delayMs, unlogged } = this.#failures.failed(address);
    this.#audit.signInFailed({ ...who, address, reason });
    if (unlogged !== undefined)
      this.#log.warn("refused credentials", {
        ...who,
        address,
        // Guesses must not fill the log.
        ...(unlogged === 0 ? {} : { not_shown_before: unlogged }),
      });
    return new CredentialsRejected(detail, delayMs, reason);
  }
}

function rejectedName({ by, name }: Credentials): RejectedName {
  return { [by === "key" ? "token_key" : "username"]: (keyOfWholeToken(name) ?? name).slice(0, 128) };
}

function proofOf(row: TokenRow, by: Caller["by"]): string {
  return (by === "key" ? row.secretHash : row.passwordHash) ?? "";
}

function toCaller({ row, by, session }: Proven): Caller {
  return {
    by,
    session,
    isSuper: row.isSuper,
    key: row.key,
    username: row.username,
    limits: row.isSuper ? [] : toLimits(row.limits),
    proof: proofOf(row, by),
    until: row.to,
  };
}

/** rowAuthorises returns whether the holder of a token could act now. Nothing is proven, and no use is recorded. */
export function rowAuthorises(row: TokenRow, need: Need, now: number): boolean {
  return outsideLifetime(row, now) === undefined && isAuthorised(toCaller({ row, by: "key" }), need);
}

/** `outsideLifetime` returns why a token cannot be used now; undefined inside its lifetime. */
export function outsideLifetime(
  { from, to }: Pick<TokenRow, "from" | "to">,
  now: number,
): { reason: "expired" | "not_yet_valid"; detail: string } | undefined {
  if (from !== null && now < from) return { reason: "not_yet_valid", detail: "Token is not yet valid" };
  if (to !== null && now >= to) return { reason: "expired", detail: "Token has expired" };
  return undefined;
}
