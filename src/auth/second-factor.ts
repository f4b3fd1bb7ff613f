import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { Fault } from "../base/fault.ts";
import { randomText } from "../base/numbers.ts";
import type { Database } from "../db/database.ts";
import type { SecondFactorValue } from "../db/rows/second-factor-rows.ts";
import { hashSecret } from "./credentials.ts";

/** A code is for this time, and is taken in the period before and after it too: clocks differ. */
const periodMs = 30_000;
const secretBytes = 20;
const recoveryCodes = 10;
const recoveryLength = 16;
/** After so many wrong codes in a row none is checked for a while, which doubles each time. */
const failuresAtOnce = 5;
const firstBlockMs = 15 * 60_000;
const maxBlockMs = 86_400_000;

/** NewFactor is what an authenticator app needs. */
interface NewFactor {
  /** In base32. */
  readonly secret: string;
  readonly uri: string;
}

/** CodeVerdict is what a code is worth; `off` if the token takes none. */
export type CodeVerdict =
  | { readonly kind: "off" | "right" | "missing" | "wrong" }
  | { readonly kind: "blocked"; readonly until: number };

interface SecondFactorsOptions {
  readonly clock: Clock;
  /** The part of the key that is outside of the database, or why there is none. */
  readonly linkKey: Buffer | { readonly problem: string };
}

/**
 * SecondFactors are the codes of authenticator apps (TOTP, RFC 6238) with which people sign in beside their passwords. The secret of an app
 * is not stored: it is derived, as those of S3 are, from a stored text and a key that is not in the database.
 */
export class SecondFactors {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #key: Buffer | { readonly problem: string };

  constructor(database: Database, { clock, linkKey }: SecondFactorsOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#key =
      linkKey instanceof Buffer
        ? Buffer.from(hkdfSync("sha256", linkKey, "", "node-server second factors", 32))
        : linkKey;
  }

  /** Whether a token takes codes, and how many recovery codes are left. */
  async state(tokenKey: string): Promise<{ readonly isOn: boolean; readonly recoveryCodes: number }> {
    const found = await this.#database.secondFactors.get(tokenKey);
    const isOn = found?.isConfirmed === true;
    return { isOn, recoveryCodes: isOn ? found.recovery.length : 0 };
  }

  /** Makes a secret, which counts once a code is confirmed. */
  async begin(tokenKey: string, username: string): Promise<NewFactor> {
    const nonce = randomText(32);
    const secret = base32(this.#secretOf(tokenKey, nonce));
    const value = { nonce, isConfirmed: false, lastPeriod: 0, recovery: [], failures: 0, blockedUntil: 0 };
    await this.#database.secondFactors.change(tokenKey, (present) => {
      if (present?.isConfirmed) throw alreadyOn();
      return { write: value, result: undefined };
    });
    const label = encodeURIComponent(`node-server:${username}`);
    return { secret, uri: `otpauth://totp/${label}?secret=${secret}&issuer=node-server` };
  }

  /** Turns the second factor on, and returns its recovery codes; undefined if the code is wrong. */
  confirm(tokenKey: string, code: string): Promise<string[] | undefined> {
    const codes = Array.from({ length: recoveryCodes }, () => randomText(recoveryLength).toLowerCase());
    return this.#database.secondFactors.change(tokenKey, (present) => {
      // Whoever guesses has to begin again, which takes the password.
      if (present === undefined || present.failures >= failuresAtOnce)
        throw new Fault("InvalidInput", "there is nothing to confirm; call session_totp_begin first");
      if (present.isConfirmed) throw alreadyOn();
      const period = this.#periodOf(tokenKey, present, code);
      if (period === undefined)
        return { write: { ...present, failures: present.failures + 1 }, result: undefined };
      const recovery = codes.map(hashSecret);
      const on = { isConfirmed: true, lastPeriod: period, recovery, failures: 0 };
      return { write: { ...present, ...on }, result: codes };
    });
  }

  /** Checks a code, or a recovery code, and uses it up, on every node. */
  check(tokenKey: string, code: string | undefined): Promise<CodeVerdict> {
    return this.#database.secondFactors.change<CodeVerdict>(tokenKey, (present) => {
      if (!present?.isConfirmed) return { result: { kind: "off" } };
      if (code === undefined) return { result: { kind: "missing" } };
      const now = this.#clock.now();
      if (now < present.blockedUntil) return { result: { kind: "blocked", until: present.blockedUntil } };
      const cleared = { ...present, failures: 0, blockedUntil: 0 };
      const period = this.#periodOf(tokenKey, present, code);
      if (period !== undefined)
        return { write: { ...cleared, lastPeriod: period }, result: { kind: "right" } };
      const given = hashSecret(code.toLowerCase().replaceAll(/[\s-]/g, ""));
      const recovery = present.recovery.filter((hash) => hash !== given);
      if (recovery.length < present.recovery.length)
        return { write: { ...cleared, recovery }, result: { kind: "right" } };
      const failures = present.failures + 1;
      const rounds = failures / failuresAtOnce;
      const blockedUntil = Number.isInteger(rounds)
        ? now + Math.min(maxBlockMs, firstBlockMs * 2 ** (rounds - 1))
        : 0;
      return { write: { ...present, failures, blockedUntil }, result: { kind: "wrong" } };
    });
  }

  /** Turns the second factor off, and returns whether it was on. */
  async remove(tokenKey: string): Promise<boolean> {
    return (await this.#database.secondFactors.delete(tokenKey)) > 0;
  }

  /** The period that a code is of, if it is right and later than the last one that was used. */
  #periodOf(tokenKey: string, { nonce, lastPeriod }: SecondFactorValue, code: string): number | undefined {
    const digits = code.replaceAll(/\s/g, "");
    if (!/^\d{6}$/.test(digits)) return undefined;
    const secret = this.#secretOf(tokenKey, nonce);
    const present = Math.floor(this.#clock.now() / periodMs);
    return [present - 1, present, present + 1].find(
      (period) =>
        period > lastPeriod && timingSafeEqual(Buffer.from(codeAt(secret, period)), Buffer.from(digits)),
    );
  }

  #secretOf(tokenKey: string, nonce: string): Buffer {
    if ("problem" in this.#key) throw new Fault("IoError", this.#key.problem, { reason: "no_link_key" });
    return createHmac("sha256", this.#key).update(`${tokenKey}\n${nonce}`).digest().subarray(0, secretBytes);
  }
}

function alreadyOn(): Fault {
  return new Fault("InvalidInput", "codes of an app are already asked for; turn that off first");
}

/** `codeAt` returns the six digits of a period (RFC 4226 §5.3). */
export function codeAt(secret: Uint8Array, period: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(period));
  const mac = createHmac("sha1", secret).update(counter).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** `base32` writes bytes whose number is a multiple of five (RFC 4648 §6). */
function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join("");
}
