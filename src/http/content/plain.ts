import { STATUS_CODES } from "node:http";
import { type Fault, type FaultReason, retryAfterSeconds } from "../../base/fault.ts";
import { textResponse } from "../request/response-size.ts";

/** plainText returns a response of one line for people. */
export function plainText(status: number, line: string, headers: Record<string, string> = {}): Response {
  return textResponse(`${line}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers },
  });
}

/** LinkEnd is why a signed link or a preview answers 410. */
export type LinkEnd = "expired" | "revoked" | "used_up" | "ended";

/** errorReason returns the header that says to programs why a request was refused; none without a reason. */
export function errorReason(reason: FaultReason | LinkEnd | undefined): Record<string, string> {
  return reason === undefined ? {} : { "x-error-reason": reason };
}

/** redirect sends the client to another address, with a line for those that do not follow. */
export function redirect(status: number, location: string, headers: Record<string, string> = {}): Response {
  return plainText(status, `${status} ${STATUS_CODES[status]}: see ${location}`, { location, ...headers });
}

/** serviceUnavailable answers for a service behind the server that does not answer; the client may try again. */
export function serviceUnavailable(detail: string): Response {
  return plainText(503, `503 Service Unavailable: ${detail}.`, { "retry-after": String(retryAfterSeconds) });
}

/** isBlobMissing returns whether the store answered that it has lost the content of a file: trying again does not help. */
export function isBlobMissing({ data }: Fault): boolean {
  return data.reason === "blob_missing";
}

/** blobMissing answers for content that the store has lost. The header tells it from the 502 of a proxy, which passes. */
export function blobMissing(line: string): Response {
  return plainText(502, line, errorReason("blob_missing"));
}

export function notFound(): Response {
  return plainText(404, "404 Not Found: nothing is served at this address.");
}

export function methodNotAllowed(
  methods: readonly string[],
  {
    alsoTakes = "",
    headers = {},
  }: { readonly alsoTakes?: string; readonly headers?: Record<string, string> } = {},
): Response {
  const allow = methods.join(", ");
  return plainText(405, `405 Method Not Allowed: this address takes ${allow}${alsoTakes}.`, {
    allow,
    ...headers,
  });
}

/** allowedMethods answers OPTIONS. */
export function allowedMethods(methods: readonly string[]): Response {
  return new Response(null, { status: 204, headers: { allow: methods.join(", ") } });
}
