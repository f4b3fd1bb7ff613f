import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { Fault } from "../../../base/fault.ts";

/**
 * ScramKeys remembers the salted password of a user, as RFC 5802 §5.1 allows: to compute it takes one to three milliseconds of
 * processor time for each connection, and salt and rounds change only with the password.
 */
export class ScramKeys {
  readonly #password: string;
  #source = "";
  #salted: Promise<Buffer> | undefined;

  constructor(password: string) {
    this.#password = password;
  }

  salted(salt: string, rounds: number): Promise<Buffer> {
    const source = `${rounds}:${salt}`;
    if (this.#salted === undefined || this.#source !== source) {
      this.#source = source;
      const password = this.#password.normalize("NFKC");
      this.#salted = promisify(pbkdf2)(password, Buffer.from(salt, "base64"), rounds, 32, "sha256");
    }
    return this.#salted;
  }
}

/** ScramExchange is the client's side of SCRAM-SHA-256 (RFC 5802 and 7677), without channel binding. */
export class ScramExchange {
  readonly #keys: ScramKeys;
  readonly #nonce = randomBytes(18).toString("base64");
  #serverSignature = "";

  constructor(keys: ScramKeys) {
    this.#keys = keys;
  }

  /** The first message of the client. */
  get opening(): string {
    return `n,,${this.#first}`;
  }

  /** The client's proof for the challenge of the server. Throws if the challenge is not an answer to `opening`. */
  async prove(challenge: string): Promise<string> {
    const parts = Object.fromEntries(challenge.split(",").map((part) => [part.slice(0, 1), part.slice(2)]));
    const { r: serverNonce = "", s: salt = "", i: rounds = "0" } = parts;
    if (!serverNonce.startsWith(this.#nonce))
      throw new Fault("DatabaseError", "PostgreSQL's answer to the authentication was forged");
    const salted = await this.#keys.salted(salt, Number(rounds));
    const clientKey = hmac(salted, "Client Key");
    const closing = `c=biws,r=${serverNonce}`;
    const signed = `${this.#first},${challenge},${closing}`;
    const signature = hmac(createHash("sha256").update(clientKey).digest(), signed);
    const proof = Buffer.from(clientKey.map((byte, at) => byte ^ (signature[at] ?? 0))).toString("base64");
    this.#serverSignature = hmac(hmac(salted, "Server Key"), signed).toString("base64");
    return `${closing},p=${proof}`;
  }

  /** Throws unless the last message of the server proves that it knows the password. */
  verify(verdict: string): void {
    if (verdict !== `v=${this.#serverSignature}`)
      throw new Fault("DatabaseError", "PostgreSQL could not prove that it knows the password");
  }

  get #first(): string {
    return `n=,r=${this.#nonce}`;
  }
}

function hmac(key: Buffer, value: string): Buffer {
  return createHmac("sha256", key).update(value).digest();
}
