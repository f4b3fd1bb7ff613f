import type { ClientOptions } from "../../client/index.ts";
import { clientFor, type Target } from "../remote/remote.ts";

export interface ExactAnswer {
  /** Whole numbers beyond 2⁵³ are bigints. */
  readonly result: unknown;
  /** The answer as it came. */
  readonly text: string;
}

/** A call that also gives the text of its answer, in which members keep their order. It may run for as long as it likes. */
export async function callExactly(
  target: Target,
  method: string,
  params: object,
  signal?: AbortSignal,
): Promise<ExactAnswer> {
  let text = "";
  const keepText: ClientOptions["fetch"] = async (url, init) => {
    // A statement may run for longer than the runtime's own time limit.
    const response = await target.fetch(url, { ...init, timeout: false } as RequestInit);
    text = await response.text();
    const { status, headers } = response;
    const type = headers.get("content-type") ?? "";
    return new Response(text, { status, headers: { "content-type": type } });
  };
  const result = await clientFor(target, { fetch: keepText }).callAny(method, params, signal);
  return { result, text };
}
