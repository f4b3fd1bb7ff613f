import type { ClientOptions } from "../../client/index.ts";
import { clientFor, type Target } from "../remote/remote.ts";

export interface ExactAnswer {
  /** Whole numbers beyond 2⁵³ are bigints. */
  readonly result: unknown;
  /** The text of the whole response. */
  readonly text: string;
}

/** Calls a method without a time limit and returns also the text of the response, in which members keep their order. */
export async function callExactly(
  target: Target,
  method: string,
  params: object,
  signal?: AbortSignal,
): Promise<ExactAnswer> {
  let text = "";
  const keepText: ClientOptions["fetch"] = async (url, init) => {
    // A statement may run longer than Bun's default timeout.
    const response = await target.fetch(url, { ...init, timeout: false } as RequestInit);
    text = await response.text();
    const { status, headers } = response;
    const type = headers.get("content-type") ?? "";
    return new Response(text, { status, headers: { "content-type": type } });
  };
  const result = await clientFor(target, { fetch: keepText }).callAny(method, params, signal);
  return { result, text };
}
