import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { Fault } from "../../../base/fault.ts";
import { isUnavailable, unavailable } from "../../unavailable.ts";

/** PgTarget is where and as which user to connect. */
export interface PgTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly sslmode: string;
  readonly scramKeys: ScramKeys;
}

export function parsePgUrl(url: string): PgTarget {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const user = decodeURIComponent(username) || "postgres";
  const plainPassword = decodeURIComponent(password);
  return {
    host: searchParams.get("host") ?? (hostname.replace(/^\[|\]$/g, "") || "127.0.0.1"),
    port: Number(port) || 5432,
    user,
    password: plainPassword,
    database: decodeURIComponent(pathname.slice(1)) || user,
    sslmode: searchParams.get("sslmode") ?? "prefer",
    scramKeys: new ScramKeys(plainPassword),
  };
}

/** PgMessage is a message of the protocol: its letter and its content. */
export interface PgMessage {
  readonly tag: string;
  readonly body: Buffer;
}

/**
 * PgConnection speaks PostgreSQL's protocol version 3, as far as an operator's statements need it: a portal that stops after a
 * number of rows, results as text with their types, the position of an error, and cancelling. The driver that the server itself
 * uses has none of these.
 */
export class PgConnection {
  readonly #socket: Socket;
  readonly #target: PgTarget;
  #rest: Buffer = Buffer.alloc(0);
  readonly #arrived: Buffer[] = [];
  #wake: (() => void) | undefined;
  #ended: Error | undefined;
  #cancelKey: Buffer = Buffer.alloc(0);
  /** The longest message in bytes; a longer one is refused before it is read. */
  maxMessage = 1024 * 1024;

  private constructor(socket: Socket, target: PgTarget) {
    this.#socket = socket;
    this.#target = target;
    socket.on("data", (chunk: Buffer) => {
      this.#arrived.push(chunk);
      // The socket is paused until the reader has taken what arrived, so memory stays bounded however much the server sends.
      socket.pause();
      this.#wake?.();
    });
    const ended = (error?: Error) => {
      this.#ended ??= error ?? new Error("PostgreSQL closed the connection");
      this.#wake?.();
    };
    socket.on("error", ended);
    socket.on("close", () => ended());
    socket.resume();
  }

  static async open(
    target: PgTarget,
    settings: Readonly<Record<string, string>>,
    timeoutMs: number,
  ): Promise<PgConnection> {
    const socket = await connect(target, timeoutMs);
    const connection = new PgConnection(socket, target);
    const timer = setTimeout(
      () => socket.destroy(new Error(`no answer within ${timeoutMs} ms (timeout_ms)`)),
      timeoutMs,
    );
    try {
      await connection.#start(settings);
      return connection;
    } catch (error) {
      socket.destroy();
      throw isUnavailable(error) ? error : unavailable(error);
    } finally {
      clearTimeout(timer);
    }
  }

  send(...messages: Buffer[]): void {
    this.#socket.write(Buffer.concat(messages));
  }

  /** Returns the next message that concerns a statement, and skips notices, parameter changes and notifications. */
  async receive(): Promise<PgMessage> {
    for (;;) {
      const message = this.#take();
      if (message === undefined) await this.#more();
      else if (message.tag === "K") this.#cancelKey = message.body;
      else if (!"NSA".includes(message.tag)) return message;
    }
  }

  /** Returns the payload of the next notification, on a connection that has sent LISTEN. */
  async notification(): Promise<string> {
    for (;;) {
      const message = this.#take();
      if (message === undefined) await this.#more();
      else if (message.tag === "E") throw toFault(message.body);
      // The sender's process, and the channel, come before.
      else if (message.tag === "A") return message.body.subarray(4).toString().split("\0")[1] ?? "";
    }
  }

  /** True once the connection is closed, by either side. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Asks the server, on a second connection, to cancel what this one runs. */
  async cancel(timeoutMs: number): Promise<void> {
    const socket = await connect(this.#target, timeoutMs);
    const cancelRequest = 80877102;
    await new Promise<void>((resolve) => {
      socket.on("close", () => resolve()).on("error", () => resolve());
      socket.end(packet("", int32(cancelRequest), this.#cancelKey));
      setTimeout(() => socket.destroy(), timeoutMs).unref();
    });
  }

  /** Ends the session and waits until the server has released every lock and setting of it. */
  async close(): Promise<void> {
    if (this.#ended !== undefined) return;
    const gone = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.#socket.end(packet("X"));
    // After an error in the middle of a result, the rest of it is thrown away: nobody reads on, who would end the pause after each piece.
    this.#socket.removeAllListeners("data").resume();
    const timer = setTimeout(() => this.#socket.destroy(), 1000);
    await gone;
    clearTimeout(timer);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #start(settings: Readonly<Record<string, string>>): Promise<void> {
    const { user, database } = this.#target;
    const protocol = 196608;
    const parameters = Object.entries({ user, database, client_encoding: "UTF8", ...settings }).flat();
    this.send(packet("", int32(protocol), ...parameters.map(text), Buffer.of(0)));
    for (;;) {
      const { tag, body } = await this.receive();
      if (tag === "E") throw toFault(body);
      if (tag === "Z") return;
      if (tag === "R") await this.#authenticate(body);
    }
  }

  async #authenticate(body: Buffer): Promise<void> {
    const { user, password } = this.#target;
    switch (body.readInt32BE(0)) {
      case 0:
        return;
      case 3:
        this.send(packet("p", text(password)));
        return;
      case 5: {
        const inner = md5(password + user);
        this.send(packet("p", text(`md5${md5(Buffer.concat([Buffer.from(inner), body.subarray(4, 8)]))}`)));
        return;
      }
      case 10:
        return this.#scram();
      default:
        throw new Fault(
          "DatabaseError",
          "PostgreSQL requires an authentication method that is not supported; use scram-sha-256 or a password",
        );
    }
  }

  async #scram(): Promise<void> {
    const scram = new ScramExchange(this.#target.scramKeys);
    const opening = Buffer.from(scram.opening);
    this.send(packet("p", text("SCRAM-SHA-256"), int32(opening.length), opening));
    const proof = await scram.prove(await this.#saslStep(11));
    this.send(packet("p", Buffer.from(proof)));
    scram.verify(await this.#saslStep(12));
  }

  async #saslStep(expected: number): Promise<string> {
    const { tag, body } = await this.receive();
    if (tag === "E") throw toFault(body);
    if (tag !== "R" || body.readInt32BE(0) !== expected)
      throw new Fault("DatabaseError", "PostgreSQL sent an unexpected message during authentication");
    return body.subarray(4).toString();
  }

  #take(): PgMessage | undefined {
    const end = this.#nextEnd();
    if (this.#rest.length < end) return undefined;
    const message = { tag: String.fromCharCode(this.#rest[0] ?? 0), body: this.#rest.subarray(5, end) };
    this.#rest = this.#rest.subarray(end);
    return message;
  }

  /** The end of the next message in the buffer, as far as it is known. */
  #nextEnd(): number {
    if (this.#rest.length < 5) return 5;
    const size = 1 + this.#rest.readInt32BE(1);
    if (size <= this.maxMessage) return size;
    throw new Fault(
      "ResponseTooBig",
      `a single row exceeds ${this.maxMessage} bytes (max_response_body_size)`,
      { limit: this.maxMessage },
    );
  }

  /** Waits until the next message may be complete. Chunks are joined once, not one by one. */
  async #more(): Promise<void> {
    const wanted = this.#nextEnd();
    let have = this.#rest.length + sum(this.#arrived);
    while (have < wanted) {
      if (this.#ended !== undefined) throw unavailable(this.#ended);
      const arrival = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#socket.resume();
      await arrival;
      have = this.#rest.length + sum(this.#arrived);
    }
    this.#rest = Buffer.concat([this.#rest, ...this.#arrived.splice(0)]);
  }
}

function sum(chunks: readonly Buffer[]): number {
  return chunks.reduce((total, chunk) => total + chunk.length, 0);
}

async function connect(target: PgTarget, timeoutMs: number): Promise<Socket> {
  const { host, port, sslmode } = target;
  const socket = host.startsWith("/") ? connectTcp(`${host}/.s.PGSQL.${port}`) : connectTcp({ host, port });
  await settled(socket, "connect", timeoutMs);
  if (sslmode === "disable" || host.startsWith("/")) return socket;
  const sslRequest = 80877103;
  socket.write(packet("", int32(sslRequest)));
  const answer = await new Promise<string>((resolve, reject) => {
    const refuse = () => reject(unavailable(new Error("PostgreSQL closed the connection before it began")));
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket
      .once("data", (chunk: Buffer) => {
        clearTimeout(timer);
        socket.off("close", refuse);
        resolve(chunk.toString("latin1"));
      })
      .once("close", refuse)
      .once("error", refuse);
  });
  if (answer !== "S") {
    if (sslmode === "prefer" || sslmode === "allow") return socket;
    socket.destroy();
    throw unavailable(new Error(`PostgreSQL offers no TLS, but database_url has sslmode=${sslmode}`));
  }
  const secure = connectTls({ socket, servername: host, rejectUnauthorized: sslmode.startsWith("verify") });
  await settled(secure, "secureConnect", timeoutMs);
  return secure;
}

function settled(socket: Socket, event: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection within ${timeoutMs} ms (timeout_ms)`)),
      timeoutMs,
    );
    const done = (settle: () => void) => {
      clearTimeout(timer);
      settle();
    };
    socket.once(event, () => done(resolve));
    socket.once("error", (error) => done(() => reject(unavailable(error))));
  });
}

function md5(value: string | Buffer): string {
  return createHash("md5").update(value).digest("hex");
}

/**
 * `toFault` turns an ErrorResponse into a Fault with the server's own message, the SQLSTATE, a hint, and the position in the text.
 */
export function toFault(body: Buffer, position?: (at: number) => Record<string, unknown>): Fault {
  const fields = new Map<string, string>();
  for (const part of body.toString().split("\0"))
    if (part !== "") fields.set(part.slice(0, 1), part.slice(1));
  const at = Number(fields.get("P"));
  const data: Record<string, unknown> = { sqlstate: fields.get("C") };
  for (const [letter, name] of [
    ["D", "detail"],
    ["H", "hint"],
  ] as const)
    if (fields.has(letter)) data[name] = fields.get(letter);
  return new Fault("DatabaseError", fields.get("M") ?? "unknown error", {
    ...data,
    ...(at > 0 ? position?.(at) : {}),
  });
}

export function packet(tag: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(tag), int32(body.length + 4), body]);
}

export function text(value: string): Buffer {
  // A NUL would end the text early, and the rest would be read as protocol.
  if (value.includes("\0")) throw new Fault("InvalidInput", "a NUL character cannot be sent to PostgreSQL");
  return Buffer.from(`${value}\0`);
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/**
 * ScramKeys remembers the salted password of a user, as RFC 5802 §5.1 allows: to compute it takes one to three milliseconds of
 * processor time for each connection, and salt and rounds change only with the password.
 */
class ScramKeys {
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
class ScramExchange {
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
