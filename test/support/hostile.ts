import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { methods } from "../../src/methods/index.ts";
import { within } from "./until.ts";

/** A bare TCP connection to a server: it sends any bytes, keeps to no protocol, and can stop reading. */
export class Wire implements Disposable {
  heard = "";
  closed = false;
  readonly #socket: Socket;
  /** Look at what was heard whenever that changes. */
  readonly #looks = new Set<() => void>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes) => {
      this.heard += bytes.toString("latin1");
      for (const look of this.#looks) look();
    });
    socket.on("close", () => {
      this.closed = true;
      for (const look of this.#looks) look();
    });
    // A reset by the server is one of the answers a hostile client may get.
    socket.on("error", () => {});
  }

  static open(url: string): Promise<Wire> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => resolve(new Wire(socket)));
      socket.once("error", reject);
    });
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Half of a hang-up: nothing more will be sent. */
  end(): void {
    this.#socket.end();
  }

  /** The bytes that arrive from now on stay in the operating system's buffers, which are soon full. */
  stopReading(): void {
    this.#socket.pause();
  }

  readAgain(): void {
    this.#socket.resume();
  }

  /** The first match in what was heard. */
  async hears(words: RegExp): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const look = () => {
      const match = words.exec(this.heard);
      if (match !== null) resolve(match);
      else if (this.closed)
        reject(new Error(`the server closed the connection; it sent: ${this.heard.slice(0, 500)}`));
    };
    this.#looks.add(look);
    look();
    try {
      return await within(`the server sends ${words}`, promise);
    } finally {
      this.#looks.delete(look);
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** The head of a POST to the JSON-RPC route, up to the empty line. */
export function postHead(...headers: string[]): string {
  return `${["POST /jsonrpc HTTP/1.1", "Host: here", ...headers].join("\r\n")}\r\n\r\n`;
}

export const handshake = [
  "GET /jsonrpc HTTP/1.1",
  "Host: here",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "\r\n",
].join("\r\n");

/** A WebSocket on bare TCP, past its handshake. */
export async function openWireSocket(url: string): Promise<Wire> {
  const wire = await Wire.open(url);
  wire.write(handshake);
  await wire.hears(/101 Switching Protocols[\s\S]*\r\n\r\n/);
  wire.heard = "";
  return wire;
}

/** One masked frame. The mask is all zeros, so the payload stands in it as it is. */
export function frame(payload: string | Uint8Array, first = 0x81): Uint8Array {
  const body = typeof payload === "string" ? Buffer.from(payload) : payload;
  return Buffer.concat([Uint8Array.of(first), maskedLength(body.length), Buffer.alloc(4), body]);
}

function maskedLength(length: number): Uint8Array {
  if (length < 126) return Uint8Array.of(0x80 | length);
  if (length < 65_536) return Uint8Array.of(0x80 | 126, length >> 8, length & 0xff);
  const bytes = Buffer.alloc(9);
  bytes[0] = 0x80 | 127;
  bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}

/** What the attacked server has as its Super Token, so that attacks reach what lies behind the door. */
export const attackedToken = "attackedAttacked:attackedAttackedAttackedAttacked";
/** Its `max_request_body_size`. */
export const attackedBytes = 256 * 1024;

export type Attack =
  | { over: "http"; verb: string; path: string; type: string; body: string | Uint8Array<ArrayBuffer> }
  | { over: "socket"; message: string | Uint8Array<ArrayBuffer> }
  | { over: "tcp"; shaken: boolean; bytes: Uint8Array; hangUp: "at once" | "politely" | "late" };

const { constant, constantFrom, oneof, tuple, array, nat } = fc;

/** `weight` times as likely as a neighbour of weight 1. */
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });

const name = constantFrom(
  ...["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "then", "toJSON"],
  ...["", "id", "method", "params", "jsonrpc", "length", "0", "\ud800", "\u0000"],
);
const text = oneof(
  name,
  fc.string({ unit: "binary", maxLength: 40 }),
  constantFrom("x".repeat(9000), "\udc00\ud800", "\u2028\u202e\u0007", "a:b", "a|b", "../../etc", "%00"),
).map((value) => JSON.stringify(value));
const number = oneof(
  constantFrom("0", "-0", "1.5", "1e400", "-1e400", "1e-400", "12345678901234567890", "1".repeat(500)),
  fc.double().map((value) => JSON.stringify(value)),
);
const scalar = oneof(text, number, constantFrom("null", "true", "false"));
const member = (value: fc.Arbitrary<string>) =>
  tuple(name, value).map(([key, given]) => `${JSON.stringify(key)}:${given}`);
/** JSON text rather than values: some of what it says no JavaScript value can hold. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: oneof(
    { maxDepth: 3, depthSize: "small" },
    scalar,
    array(tie("json"), { maxLength: 4 }).map((items) => `[${items}]`),
    array(member(tie("json")), { maxLength: 4 }).map((items) => `{${items}}`),
  ),
}));
const deep = tuple(
  constantFrom(["[", "]"], ['{"a":', "}"], ['[{"__proto__":', "}]"]),
  constantFrom(100, 5000, 15_000),
  scalar,
).map(([[open = "", close = ""], depth, core]) => open.repeat(depth) + core + close.repeat(depth));

const token = oneof(
  often(60, constant(JSON.stringify(attackedToken))),
  often(4, constantFrom('"no:body"', '"attackedAttacked:wrong"')),
  often(1, constant('"root|wrong"')),
  often(20, constantFrom('":"', '"|"', '"a"', '"a:"', '"|b"')),
  often(20, json),
);
const limit = oneof(
  tuple(json, json).map(([scope, right]) => `[{"scopes":["global",${scope}],"permissions":[${right}]}]`),
  constant('[{"scopes":[{"static_bucket":"a*"}],"permissions":[{"static_bucket_file":"read"}]}]'),
);
/** What gets past the first look, by the name of the param. */
const fitting: Readonly<Record<string, fc.Arbitrary<string>>> = {
  token,
  father_token: token,
  supertoken: token,
  token_creation: tuple(limit, json).map(([rights, extra]) => `{"token_limit":${rights},"x":${extra}}`),
  limit,
  log_filter: constantFrom('"token=warn"', '"__proto__=trace"', '"off"', '"=,="'),
  sql: constantFrom('"SELECT 1"', '"SELEC"', '""', '"SELECT \\u0000"', '"PRAGMA x"'),
};

const realCall = constantFrom(...Object.entries(methods)).chain(([name, { names }]) => {
  const odd = oneof(often(9, json), deep);
  const values = names.map((param) => oneof(often(6, fitting[param] ?? text), odd));
  const members = values.map((value, at) => value.map((given) => `${JSON.stringify(names[at])}:${given}`));
  const named = tuple(tuple(...members), array(member(json), { maxLength: 2 }));
  const objects = named.map((parts) => `{${parts.flat()}}`);
  const arrays = tuple(...values).map((given) => `[${given}]`);
  return tuple(constant(JSON.stringify(name)), oneof(often(4, objects), often(4, arrays), odd));
});
const call = oneof(often(8, realCall), often(2, tuple(oneof(text, json), oneof(json, deep))));
const request = tuple(
  call,
  oneof(often(30, constant('"2.0"')), json),
  oneof(often(6, constant("7")), often(3, number), json, constant(undefined)),
  array(member(json), { maxLength: 1 }),
).chain(([[method, params], version, id, more]) => {
  const members = [`"jsonrpc":${version}`, `"method":${method}`, `"params":${params}`, ...more];
  if (id !== undefined) members.push(`"id":${id}`);
  const least = (minLength: number) => fc.shuffledSubarray(members, { minLength });
  return oneof(often(9, least(members.length)), least(1)).map((chosen) => `{${chosen}}`);
});
const calls = array(oneof(often(5, request), json), { maxLength: 8 }).map((items) => `[${items}]`);
const batch = oneof(often(40, calls), constantFrom(`[${"1,".repeat(1000)}1]`, `[${"{},".repeat(999)}{}]`));
const whole = oneof(often(12, request), often(3, batch), json, deep);
const junk = constantFrom("", "\u0000", '"', "}", "]", ",", "\\", "\ufeff", "//");
const broken = tuple(whole, nat(1000), junk).map(([sent, at, extra]) => {
  const place = Math.floor((sent.length * at) / 1000);
  return sent.slice(0, place) + extra + (at % 2 === 0 ? "" : sent.slice(place));
});
const oversize = tuple(request, nat(100)).map(([sent, more]) => sent.padEnd(attackedBytes + 1 + more * more));
const bytes = fc.uint8Array({ maxLength: 300 }).map((given) => Uint8Array.from(given));
const message = oneof(often(60, whole), often(15, broken), often(5, bytes), oversize);

const anyFrame = tuple(nat(255), bytes).map(([first, body]) => frame(body, first));
const fragments = tuple(whole, nat(1000)).map(([sent, at]) => {
  const bytes = Buffer.from(sent);
  const place = Math.floor((bytes.length * at) / 1000);
  return Buffer.concat([frame(bytes.subarray(0, place), 0x01), frame(bytes.subarray(place), 0x80)]);
});
const frames = array(oneof(anyFrame, anyFrame, fragments, bytes), { minLength: 1, maxLength: 4 });

const length = constantFrom("Content-Length: 900", "Content-Length: -1", "Transfer-Encoding: chunked");
const halfPost = tuple(length, whole, nat(300)).map(([header, sent, cut]) =>
  Buffer.from(postHead("Content-Type: application/json", header) + sent.slice(0, cut)),
);
const verb = constantFrom("GET", "POST", "FOO", "PRI");
const oddHead = tuple(verb, fc.string({ unit: "binary" }), bytes).map(([given, target, extra]) =>
  Buffer.concat([
    Buffer.from(`${given} /${target} HTTP/1.1\r\nHost: here\r\n`),
    extra,
    Buffer.from("\r\n\r\n"),
  ]),
);
const hangUp = constantFrom("at once" as const, "politely" as const, "late" as const);

const overHttp = fc.record({
  over: constant("http" as const),
  verb: oneof(often(30, constant("POST")), constantFrom("PUT", "PROPFIND", "OPTIONS")),
  path: oneof(often(30, constant("/jsonrpc")), constantFrom("/", "/x", "/terminal", "/node/%00", "/%")),
  type: oneof(
    often(30, constant("application/json")),
    constantFrom("text/plain", "application/json;;=", ";"),
  ),
  body: message,
});
const overSocket = fc.record({ over: constant("socket" as const), message });
const overTcp = fc.record({
  over: constant("tcp" as const),
  shaken: constant(false),
  bytes: oneof(halfPost, oddHead, bytes),
  hangUp,
});
const afterHandshake = fc.record({
  over: constant("tcp" as const),
  shaken: constant(true),
  bytes: frames.map((parts) => Buffer.concat(parts)),
  hangUp,
});

/** Everything a stranger may send. */
export const attack: fc.Arbitrary<Attack> = oneof(
  often(50, overHttp),
  often(35, overSocket),
  often(15, afterHandshake),
  often(10, overTcp),
);
