import { InternalError, MethodNotFound, PermissionDenied, RpcError } from "../../../client/index.ts";
import { explain } from "../../ui/problem.tsx";

/** What came of a call. */
export type Answer =
  | { readonly kind: "result"; readonly result: unknown; readonly ms: number }
  | { readonly kind: "error"; readonly error: unknown; readonly ms: number };

/** The answer as it came over the wire; undefined when none came. */
export function wireAnswer(answer: Answer): object | undefined {
  if (answer.kind === "result") return { jsonrpc: "2.0", id: 1, result: answer.result };
  if (!(answer.error instanceof RpcError)) return undefined;
  const { code, message, data } = answer.error;
  return { jsonrpc: "2.0", id: 1, error: { code, message, data } };
}

/** The error in a sentence, and what to do. */
export function errorWords(error: unknown): string {
  if (error instanceof PermissionDenied) return `${explain(error)}. Above it says what the method needs.`;
  if (error instanceof MethodNotFound)
    return `${explain(error)}. The server was changed since this page was loaded: reload it.`;
  if (error instanceof InternalError)
    return `${explain(error)}. This is a fault of the server; its log says more under the reference.`;
  if (error instanceof RpcError && error.kind === "NeedsWebSocket")
    return `${explain(error)}. It works only over the connection that made the subscription.`;
  return explain(error);
}

/** The param that an error is about. */
export function fieldOf(answer: Answer | undefined): string | undefined {
  if (answer?.kind !== "error" || !(answer.error instanceof RpcError)) return undefined;
  const { field } = answer.error.data;
  return typeof field === "string" ? field.split(/[.[]/, 1)[0] : undefined;
}
