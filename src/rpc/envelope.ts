import { Fault } from "../base/fault.ts";
import { RawJson } from "../base/json.ts";

const maxBatch = 1000;

/** The JSON text of an id, exactly as it was sent. */
export type IdText = string;

/** One well-formed request. No id: a notification, which gets no answer. */
export interface Request {
  readonly method: string;
  readonly params: unknown;
  readonly id: IdText | undefined;
}

/** An item that is not a request, and the id its error goes to. */
interface InvalidItem {
  readonly fault: Fault;
  readonly id: IdText;
}

export type Item = Request | InvalidItem;

type Envelope =
  | { readonly batch: false; readonly item: Item }
  | { readonly batch: true; readonly items: readonly Item[] };

/** Reads what arrived into what JSON-RPC 2.0 says it can be. */
export function parseEnvelope(text: string): Envelope {
  let json: unknown;
  try {
    json = parseRequest(text);
  } catch {
    return { batch: false, item: broken("Parse", "the request is not JSON") };
  }
  const spellings = new IdSpellings(text);
  if (!Array.isArray(json)) return { batch: false, item: toItem(json, spellings) };
  if (json.length === 0) return { batch: false, item: broken("InvalidRequest", "the batch is empty") };
  if (json.length > maxBatch) {
    const fault = new Fault("BatchTooLong", `${json.length} calls; a batch may hold ${maxBatch}`, {
      limit: maxBatch,
      actual: json.length,
    });
    return { batch: false, item: { fault, id: "null" } };
  }
  return { batch: true, items: json.map((item) => toItem(item, spellings)) };
}

function toItem(json: unknown, spellings: IdSpellings): Item {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return broken("InvalidRequest", "a request must be an object");
  const { jsonrpc, method, params, id } = json as Record<string, unknown>;
  const idText = toIdText(id, spellings);
  if (idText === undefined && id !== undefined)
    return broken("InvalidRequest", "`id` must be a string, a number or null");
  if (jsonrpc !== "2.0") return broken("InvalidRequest", '`jsonrpc` must be "2.0"', idText);
  if (typeof method !== "string") return broken("InvalidRequest", "`method` must be a string", idText);
  // Several clients write `"params": null` for none.
  if (params !== undefined && typeof params !== "object")
    return broken("InvalidRequest", "`params` must be an object or an array", idText);
  return { method, params, id: idText };
}

function broken(kind: "Parse" | "InvalidRequest", detail: string, id: IdText = "null"): InvalidItem {
  return { fault: new Fault(kind, detail), id };
}

function toIdText(id: unknown, spellings: IdSpellings): IdText | undefined {
  if (typeof id === "string" || id === null) return JSON.stringify(id);
  if (typeof id === "bigint") return String(id);
  if (id instanceof RawJson) return id.text;
  if (typeof id !== "number") return undefined;
  return Number.isSafeInteger(id) ? String(id) : spellings.of(id);
}

/**
 * The digits of ids that a double cannot hold or spells differently: 12345678901234567890, 1.50. The text is searched once, at the
 * first such id, so that a batch of them costs no more than its size. An id whose spelling is not found is answered as the double.
 */
class IdSpellings {
  readonly #text: string;
  #found: Map<number, string> | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  of(id: number): IdText {
    this.#found ??= this.#search();
    return this.#found.get(id) ?? JSON.stringify(id);
  }

  #search(): Map<number, string> {
    const found = new Map<number, string>();
    for (const [, digits = ""] of this.#text.matchAll(/"id"\s*:\s*(-?(?:\d{16}|\d+[.eE])[\d.eE+-]*)/g)) {
      const id = Number(digits);
      if (!found.has(id)) found.set(id, digits);
      // No batch has more ids; what else looks like one stands somewhere in the params.
      if (found.size === maxBatch) break;
    }
    return found;
  }
}

/** The longest text in which integers are read exactly; in a larger one that would delay other clients. */
const exactBytes = 256 * 1024;

/**
 * `parseRequest` parses a request; integers that a double cannot represent (a 64-bit SQL value) become bigints, and an infinite id
 * its text. Few texts have any. The client's `parseExactly` is separate: it also runs on Node 20 and in browsers without
 * `context.source`, has no bound, and the client package shares no code with the server.
 */
function parseRequest(text: string): unknown {
  if (text.length > exactBytes || !/\d{16}|[eE]\+?\d{3}/.test(text)) return JSON.parse(text);
  const exact = (key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    const digits = context?.source ?? "";
    if (key === "id" && !Number.isFinite(value)) return new RawJson(digits);
    return /^-?\d{16,40}$/.test(digits) ? BigInt(digits) : value;
  };
  return JSON.parse(text, exact);
}

/**
 * `maxOpenStructure` limits the brackets, braces and commas of a large request whose caller has not proven a token. To parse ten
 * megabytes of `[{},{},…` takes half a second and 300 MB; a large text or base64 costs next to nothing.
 */
export const maxOpenStructure = 128 * 1024;

/** Characters that are counted in one turn of the event loop. */
const turnChars = 1024 * 1024;

/** Params in which methods take the caller's token; the first positional param is one too. */
const tokenParams = ['"token"', '"father_token"', '"supertoken"', '"params"'];
/** Texts that are tried as tokens. */
const maxTokens = 4;
const maxTokenChars = 4096;

/** `countStructure` counts the brackets, braces and commas in a text, and stops above `maxOpenStructure`. */
export async function countStructure(text: string, pause: () => Promise<void>): Promise<number> {
  let structure = 0;
  for (let at = 0; at < text.length; at += turnChars) {
    if (at > 0) await pause();
    structure += structureIn(text, at, Math.min(at + turnChars, text.length));
    if (structure > maxOpenStructure) break;
  }
  return structure;
}

/**
 * `isShallow` returns whether a text has at most `max` brackets, braces and commas. Of a long text with few of them it costs next to
 * nothing.
 */
export function isShallow(text: string, max: number): boolean {
  let found = 0;
  for (const character of ",[{")
    for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1))
      if (++found > max) return false;
  return true;
}

/** `structureIn` counts the brackets, braces and commas in a part of a text. */
export function structureIn(text: string, from: number, to: number): number {
  let found = 0;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    // , [ {
    if (code === 0x2c || code === 0x5b || code === 0x7b) found += 1;
  }
  return found;
}

/**
 * `findRefusal` returns why a heavy request is not parsed; undefined if `authenticate` accepts the token of its header, or a text
 * in it that may be one.
 */
export async function findRefusal(
  { text, bearer }: { readonly text: string; readonly bearer: string | undefined },
  authenticate: (token: string) => Promise<unknown>,
): Promise<Fault | undefined> {
  let refusal = new Fault(
    "RequestTooBig",
    `a request with more than ${maxOpenStructure} values needs a valid token; send fewer values, or add the token`,
    { limit: maxOpenStructure },
  );
  for (const token of [...(bearer === undefined ? [] : [bearer]), ...tokensIn(text)]) {
    try {
      await authenticate(token);
      return undefined;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refusal = error;
    }
  }
  return refusal;
}

/** Texts at the places of a token, found without parsing. */
function tokensIn(text: string): string[] {
  const found = new Set<string>();
  for (const param of tokenParams) {
    let at = text.indexOf(param);
    for (let tries = 0; at !== -1 && tries < maxTokens && found.size < maxTokens; tries += 1) {
      const token = tokenAfter(text, at + param.length);
      if (token !== undefined) found.add(token);
      at = text.indexOf(param, at + param.length);
    }
  }
  return [...found];
}

function tokenAfter(text: string, at: number): string | undefined {
  const [, literal] =
    /^\s*:\s*(?:\[\s*)?("(?:[^"\\]|\\.)*")/.exec(text.slice(at, at + maxTokenChars + 100)) ?? [];
  if (literal === undefined) return undefined;
  try {
    return String(JSON.parse(literal));
  } catch {
    // Not a JSON text, so not a token.
    return undefined;
  }
}
