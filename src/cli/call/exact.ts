import { NodeServerClient } from "../../client/index.ts";
import type { SourceReviver } from "../terminal/json-source.ts";

export interface ExactAnswer {
  /** Whole numbers beyond 2⁵³ are bigints. */
  readonly result: unknown;
  /** The answer as it came. */
  readonly text: string;
}

/** A call that keeps every digit: the client reads numbers as doubles, which are too small for 64-bit ones. */
export async function callExactly(
  server: { readonly url: string; readonly token?: string | undefined },
  method: string,
  params: object,
  signal?: AbortSignal,
): Promise<ExactAnswer> {
  let text = "";
  const client = new NodeServerClient(server.url, {
    token: server.token,
    async fetch(url, init) {
      // A statement may run for longer than the runtime's own patience.
      const response = await fetch(url, { ...init, timeout: false } as RequestInit);
      text = await response.text();
      const { status, headers } = response;
      const type = headers.get("content-type") ?? "";
      return new Response(text, { status, headers: { "content-type": type } });
    },
  });
  // What is wrong with the answer, the client finds out.
  await client.callAny(method, params, signal);
  return { text, result: (parseExactly(text) as { result: unknown }).result };
}

function parseExactly(text: string): unknown {
  const exact: SourceReviver = (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context?.source ?? 0)
      : value;
  return JSON.parse(text, exact);
}
