import type { DenialReason } from "../base/fault.ts";
import type { Database } from "../db/database.ts";
import type { TokenRow } from "../db/token-rows.ts";
import type { LogHub } from "../log/hub.ts";
import { authorise, type Caller, superRefusal } from "./caller.ts";
import { type Credentials, keyOfWholeToken, parseCredentials } from "./credentials.ts";
import { Denied } from "./denied.ts";
import type { Guesses } from "./guesses.ts";
import { anyToken, type Need } from "./need.ts";
import { toLimits } from "./permission.ts";
import {
  type FailedPasswords,
  hashesMatch,
  hashSecret,
  noSecretHash,
  type Passwords,
  type Waiting,
} from "./secrets.ts";

/** Credentials that prove nothing, and how long the answer should be kept back because its address guesses. */
export class Refusal extends Denied {
  constructor(
    detail: string,
    readonly delayMs: number,
  ) {
    super("invalid_credentials", detail);
  }
}

/** Who knocks, as far as the door they came through can tell. */
export interface Guest extends Waiting {
  /** Passwords that failed in the same batch. */
  readonly failed?: FailedPasswords | undefined;
}

/** Where every credential of every protocol is checked. */
export class AuthDoor {
  readonly #log;

  constructor(
    private readonly database: Database,
    private readonly passwords: Passwords,
    private readonly guesses: Guesses,
    hub: LogHub,
  ) {
    this.#log = hub.logger("token");
  }

  /** The caller behind a token text, if it may do what `need` says. */
  async admit(tokenText: string, need: Need, guest: Guest): Promise<Caller> {
    const credentials = parseCredentials(tokenText);
    const row = await this.#prove(credentials, guest);
    if (row === undefined) throw this.#refuse(credentials, need, guest.address);
    const caller = toCaller(row, credentials.by);
    const outside = outsideLifetime(row);
    if (outside !== undefined) {
      const { reason, detail } = outside;
      // The Super text is for every other token, expired ones included.
      throw new Denied(reason, need.kind === "super" && !caller.isSuper ? superRefusal : detail);
    }
    authorise(caller, need);
    return caller;
  }

  /** The caller behind a name and a proof that do not say which they are: key and secret, or user name and password. */
  async recognise(name: string, proof: string, guest: Guest): Promise<Caller> {
    const byKey: Credentials = { by: "key", name, proof };
    const byUsername: Credentials = { by: "username", name, proof };
    for (const credentials of [byKey, byUsername]) {
      const row = await this.#prove(credentials, guest);
      if (row === undefined) continue;
      const outside = outsideLifetime(row);
      if (outside !== undefined) throw new Denied(outside.reason, outside.detail);
      return toCaller(row, credentials.by);
    }
    throw this.#refuse(byUsername, anyToken, guest.address);
  }

  /** Whether what let the caller in would let it in now: for work that goes on after its call. */
  async stillAdmits(caller: Caller, need: Need): Promise<boolean> {
    const row = await this.database.tokens.byKey(caller.key);
    if (row === undefined || proofOf(row, caller.by) !== caller.proof) return false;
    if (outsideLifetime(row) !== undefined) return false;
    try {
      authorise(toCaller(row, caller.by), need);
      return true;
    } catch (error) {
      if (error instanceof Denied) return false;
      throw error;
    }
  }

  /** The whole row of a token is read once its secret or password is proven, so that a refusal takes as long for every name. */
  async #prove({ by, name, proof }: Credentials, guest: Guest): Promise<TokenRow | undefined> {
    const { tokens } = this.database;
    if (by === "key") {
      const given = hashSecret(proof);
      const row = await tokens.byKeyWithSecret(name, given);
      return hashesMatch(given, row?.secretHash ?? noSecretHash) ? row : undefined;
    }
    const stored = await tokens.passwordOf(name);
    const hash = stored?.passwordHash ?? null;
    if (guest.failed?.has(name, hash)) return undefined;
    if (!(await this.passwords.matches({ name, proof }, hash, guest))) {
      guest.failed?.add(name, hash);
      return undefined;
    }
    const row = stored === undefined ? undefined : await tokens.byKey(stored.key);
    // Changed or gone while it was checked: then this was not the password.
    return row?.passwordHash === hash ? row : undefined;
  }

  #refuse({ by, name }: Credentials, need: Need, address: string): Refusal {
    const { delayMs, untold } = this.guesses.failed(address);
    if (untold !== undefined)
      this.#log.warn("refused credentials", {
        [by === "key" ? "token_key" : "username"]: (keyOfWholeToken(name) ?? name).slice(0, 128),
        address,
        // A crowd of guesses must not fill the log.
        ...(untold === 0 ? {} : { not_shown_before: untold }),
      });
    // Unknown names and wrong proofs look alike, so nobody learns whether a token exists.
    return new Refusal(need.kind === "super" ? superRefusal : "Invalid credentials", delayMs);
  }
}

function proofOf(row: TokenRow, by: Caller["by"]): string {
  return (by === "key" ? row.secretHash : row.passwordHash) ?? "";
}

function toCaller(row: TokenRow, by: Caller["by"]): Caller {
  return {
    by,
    isSuper: row.isSuper,
    key: row.key,
    username: row.username,
    limits: row.isSuper ? [] : toLimits(row.limits),
    proof: proofOf(row, by),
    until: row.to,
  };
}

/** Why a proven token is refused by the clock; undefined inside its lifetime. */
function outsideLifetime({ from, to }: TokenRow): { reason: DenialReason; detail: string } | undefined {
  const now = Date.now();
  if (from !== null && now < from) return { reason: "not_yet_valid", detail: "Token is not yet valid" };
  if (to !== null && now >= to) return { reason: "expired", detail: "Token has expired" };
  return undefined;
}
