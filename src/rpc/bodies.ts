import { CredentialsRejected } from "../auth/authenticator.ts";
import { Fault, messageOf, retryAfterSeconds } from "../base/fault.ts";
import { uncountedBytes } from "../base/memory-budget.ts";
import { randomText } from "../base/numbers.ts";
import type { Logger } from "../log/hub.ts";
import type { IdText } from "./envelope.ts";
import type { RequestState } from "./request-state.ts";

/** The answer to a request; undefined where there is none to give. */
export type Body = string | LargeAnswer | undefined;

const head = '{"jsonrpc":"2.0","result":';

/** `envelopeBytes` is the length of what JSON-RPC puts around a result, without the id. */
export const envelopeBytes = Buffer.byteLength(`${head},"id":}`);

/** The answer to a call that succeeded. */
export function resultBody(
  json: string | StreamedJson,
  id: IdText,
  state: RequestState,
): string | LargeAnswer | Promise<string> {
  const tail = `,"id":${id}}`;
  if (typeof json === "string") {
    const text = `${head}${json}${tail}`;
    if (state.isShort(text)) state.opened = undefined;
    // Counted in parts: a batch may ask a thousand times for what is then too much, and no text of it is put together.
    else reserve(Buffer.byteLength(json) + envelopeBytes + Buffer.byteLength(id), state);
    return text;
  }
  const answer = new LargeAnswer([head, json, tail]);
  const bytes = json.bytes + envelopeBytes + Buffer.byteLength(id);
  try {
    // Unless it is sent in pieces, it is in memory once as text and once in the buffer of the connection.
    reserve(bytes, state, state.source.streams ? json.heldBytes : 2 * bytes);
  } catch (error) {
    void answer[Symbol.asyncDispose]();
    throw error;
  }
  return state.source.streams ? answer : answer.text();
}

function reserve(bytes: number, state: RequestState, heldBytes = bytes): void {
  try {
    state.countBytes(bytes, heldBytes);
    state.opened = undefined;
  } catch (error) {
    // A client that does not learn the id of its subscription could never end it.
    if (state.opened !== undefined) state.source.session?.cancel(state.opened);
    throw error;
  }
}

/** The answer to a call that failed. An id that is too large for what memory is left is not repeated. */
export function errorBody(fault: Fault, id: IdText, state: RequestState): string {
  const text = errorText(fault, id);
  try {
    state.hold(Buffer.byteLength(text));
    return text;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return errorText(error, "null");
  }
}

export function errorText(fault: Fault, id: IdText): string {
  return `{"jsonrpc":"2.0","error":${JSON.stringify(toWireError(fault))},"id":${id}}`;
}

/** The answer of a batch. A large one is not put together in memory once more. */
export function batchBody(answers: ReadonlyArray<string | LargeAnswer>): Body {
  if (answers.length === 0) return undefined;
  const texts = answers.filter((answer) => typeof answer === "string");
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (texts.length === answers.length && length <= uncountedBytes) return `[${texts.join(",")}]`;
  const parts = answers.flatMap((answer, at) => [
    at === 0 ? "[" : ",",
    ...(typeof answer === "string" ? [answer] : answer.parts),
  ]);
  return new LargeAnswer([...parts, "]"]);
}

interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * `toWireError` returns the error object of JSON-RPC. `data.detail` is the message without the title, for programs that show it
 * to people.
 */
export function toWireError({ code, message, kind, detail, data }: Fault): WireError {
  const retry = data.reason === "unavailable" ? { retry_after_seconds: retryAfterSeconds } : {};
  return { code, message, data: { kind, ...retry, ...data, detail } };
}

/**
 * `toFault` masks errors that are not a `Fault`, which are bugs: the log gets all of it under a reference, the caller only the
 * reference.
 */
export function toFault(error: unknown, log: Logger): Fault {
  if (error instanceof Fault) return error;
  const reference = randomText(12);
  log.error(`bug: ${messageOf(error)}`, {
    reference,
    stack: error instanceof Error ? (error.stack ?? "") : "",
  });
  return new Fault("Internal", `the server's log has the details under reference ${reference}`, {
    reference,
  });
}

export interface Reply {
  /** Undefined: nothing to answer, only notifications. */
  readonly body: Body;
  /** Whether it may contain a secret, so that its length must not depend on its content: it is not compressed. */
  readonly hasSecret: boolean;
  /** Why the request as a whole was refused. */
  readonly refusal: Fault | undefined;
  /** Bytes that were counted in the memory budget for it. */
  readonly reservedBytes: number;
  /** Keep the answer back this long: its address guesses. */
  readonly delayMs: number;
  /** To be called once the answer has left; most calls leave nothing to do. */
  readonly sent: (() => void) | undefined;
}

/** The answer to a request that is refused as a whole. */
export function refuse(refusal: Fault): Reply {
  const delayMs = refusal instanceof CredentialsRejected ? refusal.delayMs : 0;
  return {
    body: errorText(refusal, "null"),
    hasSecret: false,
    refusal,
    reservedBytes: 0,
    delayMs,
    sent: undefined,
  };
}

/** So much text is turned into bytes at a time. */
const pieceChars = 64 * 1024;

/** JSON text that is sent in pieces, because to make or send the whole of it at once would take too long. To be read once, or disposed. */
export interface StreamedJson extends AsyncDisposable {
  /** Marks the type for the engine. */
  readonly isStreamedJson: true;
  /** The length of the whole. */
  readonly bytes: number;
  /** The part that is in memory until it is sent. */
  readonly heldBytes: number;
  /** A failure ends the stream early. Disposes itself at the end. */
  pieces(): AsyncGenerator<Uint8Array>;
}

export function isStreamedJson(value: unknown): value is StreamedJson {
  return typeof value === "object" && value !== null && "isStreamedJson" in value;
}

/** An answer that is sent in pieces, as its client reads them. To be read once, or disposed. */
export class LargeAnswer implements AsyncDisposable {
  constructor(readonly parts: ReadonlyArray<string | StreamedJson>) {}

  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (const part of this.parts) {
        if (typeof part === "string") yield* piecesOf(part);
        else yield* part.pieces();
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  /** The whole in memory, for a transport that cannot send pieces. */
  async text(): Promise<string> {
    const texts: string[] = [];
    for await (const piece of this.pieces()) texts.push(Buffer.from(piece).toString("utf8"));
    return texts.join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.parts) if (typeof part !== "string") await part[Symbol.asyncDispose]();
  }
}

function* piecesOf(text: string): Generator<Uint8Array> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + pieceChars, text.length);
    // A character of two halves stays in one piece.
    if (end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))) end += 1;
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}
