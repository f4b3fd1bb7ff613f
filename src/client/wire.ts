import { toRpcError, Unreachable, type WireError } from "./errors.ts";

export interface WireCall {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params: object;
  readonly id: number;
}

interface WireAnswer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: WireError;
}

/** Sends calls by POST: one, or several as a batch. Answers come in the order of the calls. */
export async function post(
  url: string,
  calls: WireCall | readonly WireCall[],
  { fetch, signal }: { readonly fetch: typeof globalThis.fetch; readonly signal: AbortSignal | undefined },
): Promise<WireAnswer[]> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(calls),
      ...(signal === undefined ? {} : { signal }),
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new Unreachable(`${url} cannot be reached: ${reasonOf(error)}`, { cause: error });
  }
  const answer = parse(text);
  if (answer === undefined)
    throw new Unreachable(`${url} is no node-server: it answers ${response.status} and no JSON-RPC`);
  return Array.isArray(answer) ? (answer as WireAnswer[]) : [answer as WireAnswer];
}

export function resultOf(answer: WireAnswer | undefined): unknown {
  if (answer === undefined) throw new Unreachable("an answer is missing");
  if (answer.error !== undefined) throw toRpcError(answer.error);
  return answer.result;
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && (Array.isArray(value) || "jsonrpc" in value)
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
