import { Deadline } from "./deadline.ts";
import { NotNodeServer, toRpcError, type WireError } from "./errors.ts";
import { type Integers, parseExactly, stringifyExactly } from "./exact-json.ts";
import { toUnreachable } from "./unreachable.ts";

export interface WireCall {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params: object;
  readonly id: number;
}

export interface WireAnswer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: WireError;
}

/** Fetch is the part of `fetch` that this client uses. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the runtime's own timeout, about five minutes. */
  readonly timeoutMs?: number | undefined;
}

export interface PostOptions extends CallOptions {
  readonly integers: Integers;
}

/** Sends one call by POST and returns its result. */
export async function postCall(
  url: string,
  call: WireCall,
  fetch: Fetch,
  options: PostOptions,
): Promise<unknown> {
  const { answer, status } = await post(url, call, fetch, options);
  if (!isAnswer(answer) || (answer.error === undefined && answer.id !== call.id))
    throw new NotNodeServer(`${url} is not a node-server: it answers ${status} with other JSON`);
  return resultOf(answer);
}

/** Sends several calls by POST and returns for each its result or its error. Throws when the batch is refused as a whole. */
export async function postBatch(
  url: string,
  calls: readonly WireCall[],
  fetch: Fetch,
  options: PostOptions,
): Promise<unknown[]> {
  const { answer, status } = await post(url, calls, fetch, options);
  if (isAnswer(answer) && answer.error !== undefined) throw toRpcError(answer.error);
  if (!Array.isArray(answer) || !answer.every(isAnswer))
    throw new NotNodeServer(`${url} is not a node-server: it answers ${status} with other JSON`);
  // JSON-RPC 2.0 §6: the answers of a batch may come in any order.
  const byId = new Map(answer.map((one) => [one.id, one]));
  return calls.map(({ id, method }) => {
    const own = byId.get(id);
    if (own === undefined) return new NotNodeServer(`the answer to ${method} is missing in the batch`);
    return own.error === undefined ? own.result : toRpcError(own.error);
  });
}

function resultOf({ error, result }: WireAnswer): unknown {
  if (error !== undefined) throw toRpcError(error);
  return result;
}

export function isAnswer(value: unknown): value is WireAnswer {
  if (typeof value !== "object" || value === null || !("id" in value)) return false;
  return "error" in value ? isWireError(value.error) : "result" in value;
}

function isWireError(value: unknown): value is WireError {
  return (
    typeof value === "object" &&
    value !== null &&
    "code" in value &&
    typeof value.code === "number" &&
    "message" in value &&
    typeof value.message === "string"
  );
}

async function post(
  url: string,
  calls: WireCall | readonly WireCall[],
  fetch: Fetch,
  { signal, timeoutMs, integers }: PostOptions,
): Promise<{ readonly answer: unknown; readonly status: number }> {
  const body = stringifyExactly(calls);
  const deadline = new Deadline(signal, timeoutMs, url);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: deadline.signal,
    });
    const text = await response.text();
    return { answer: parse(text, integers) ?? notJson(url, response), status: response.status };
  } catch (error) {
    deadline.throwIfEnded();
    if (error instanceof NotNodeServer) throw error;
    throw toUnreachable(url, error);
  } finally {
    deadline.clear();
  }
}

function parse(text: string, integers: Integers): unknown {
  try {
    return integers === "bigint" ? parseExactly(text) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function notJson(url: string, response: Response): never {
  // Following a redirect turns a POST into a GET, which no JSON-RPC server answers.
  const where = response.redirected ? `; it redirects to ${response.url}, so use that address` : "";
  const type = response.headers.get("content-type")?.split(";", 1)[0] ?? "";
  const form = type === "" || type.includes("json") ? "no JSON" : type;
  throw new NotNodeServer(`${url} is not a node-server: it answers ${response.status} with ${form}${where}`);
}
