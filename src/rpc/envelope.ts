import { Fault } from "../base/fault.ts";

export const maxBatch = 1000;

/** The JSON text of an id, exactly as it was sent. */
export type IdText = string;

/** One well-formed request. No id: a notification, which gets no answer. */
export interface Request {
  readonly method: string;
  readonly params: unknown;
  readonly id: IdText | undefined;
}

/** An item that is no request, and the id its error goes to. */
export interface Broken {
  readonly fault: Fault;
  readonly id: IdText;
}

export type Item = Request | Broken;

export type Envelope =
  | { readonly batch: false; readonly item: Item }
  | { readonly batch: true; readonly items: readonly Item[] };

/** Reads what arrived into what JSON-RPC 2.0 says it can be. */
export function parseEnvelope(text: string): Envelope {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { batch: false, item: broken("Parse", "the request is not JSON") };
  }
  const digits = exactIds(text);
  if (!Array.isArray(json)) return { batch: false, item: toItem(json, 0, digits) };
  if (json.length === 0) return { batch: false, item: broken("InvalidRequest", "the batch is empty") };
  if (json.length > maxBatch) {
    const fault = new Fault("BatchTooLong", `${json.length} calls; a batch may hold ${maxBatch}`, {
      limit: maxBatch,
      actual: json.length,
    });
    return { batch: false, item: { fault, id: "null" } };
  }
  return { batch: true, items: json.map((item, index) => toItem(item, index, digits)) };
}

function toItem(json: unknown, index: number, digits: ExactIds): Item {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return broken("InvalidRequest", "a request must be an object");
  const { jsonrpc, method, params, id } = json as Record<string, unknown>;
  const idText = toIdText(id, index, digits);
  if (idText === undefined && id !== undefined)
    return broken("InvalidRequest", "`id` must be a string, a number or null");
  const refuse = (why: string) => broken("InvalidRequest", why, idText);
  if (jsonrpc !== "2.0") return refuse('`jsonrpc` must be "2.0"');
  if (typeof method !== "string") return refuse("`method` must be a string");
  // Several clients write `"params": null` for none.
  if (params !== undefined && typeof params !== "object")
    return refuse("`params` must be an object or an array");
  return { method, params, id: idText };
}

function broken(kind: "Parse" | "InvalidRequest", detail: string, id: IdText = "null"): Broken {
  // The specification's own examples show the bare words as the message.
  return { fault: new Fault(kind, "", { detail }), id };
}

function toIdText(id: unknown, index: number, digits: ExactIds): IdText | undefined {
  if (typeof id === "string" || id === null) return JSON.stringify(id);
  if (typeof id !== "number") return undefined;
  return Number.isSafeInteger(id) ? String(id) : digits(index);
}

type ExactIds = (index: number) => string | undefined;

/**
 * The digits of number ids as they were written: a double would lose some of 12345678901234567890, and 1e400 whole.
 * The text is read a second time, with its sources, for the first id that needs it.
 */
function exactIds(text: string): ExactIds {
  let items: readonly unknown[] | undefined;
  const sources = new Map<unknown, string>();
  const note = function (this: unknown, key: string, value: unknown, context?: { source?: string }): unknown {
    if (key === "id" && typeof value === "number" && context?.source !== undefined)
      sources.set(this, context.source);
    return value;
  };
  return (index) => {
    if (items === undefined) {
      const root: unknown = JSON.parse(text, note as Parameters<typeof JSON.parse>[1]);
      items = Array.isArray(root) ? root : [root];
    }
    return sources.get(items[index]);
  };
}
