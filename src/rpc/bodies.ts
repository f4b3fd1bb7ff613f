import { Fault } from "../base/fault.ts";
import { uncountedBytes } from "../base/memory-budget.ts";
import type { IdText } from "./envelope.ts";
import { toWireError } from "./errors.ts";
import { LargeAnswer, type StreamedJson } from "./large-answer.ts";
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
    else reserve(Buffer.byteLength(text), state);
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
    state.take(bytes, heldBytes);
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
