import { STATUS_CODES } from "node:http";
import { type Fault, type FaultReason, retryAfterSeconds } from "../../base/fault.ts";
import { type PulledOptions, pulledStream } from "../../base/pulled-stream.ts";

const bodySize = Symbol("bodySize");

/** A response with the size of its body, which Bun does not tell without reading the body. */
interface SizedResponse extends Response {
  [bodySize]?: number | StreamMeter;
}

/** StreamMeter counts the bytes of a body whose length is not known beforehand. Whoever makes the body calls `add` and `end`. */
export class StreamMeter {
  #bytes = 0;
  #ended = false;
  #onEnd: ((bytes: number) => void) | undefined;

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Further calls do nothing. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd?.(this.#bytes);
  }

  /** Calls `onEnd` once with the number of bytes; at once if the body has ended. */
  whenEnded(onEnd: (bytes: number) => void): void {
    if (this.#ended) onEnd(this.#bytes);
    else this.#onEnd = onEnd;
  }
}

/** sized remembers the size of a response's body for `bodySizeOf`, and returns the response. */
export function sized(response: Response, size: number | StreamMeter): Response {
  (response as SizedResponse)[bodySize] = size;
  return response;
}

/** bodySizeOf returns what `sized` has remembered; 0 for a response without a body. */
export function bodySizeOf(response: Response): number | StreamMeter {
  return (response as SizedResponse)[bodySize] ?? 0;
}

/** metered passes the parts of a body on and counts their bytes. */
export async function* metered(
  parts: AsyncIterable<Uint8Array>,
  meter: StreamMeter,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const part of parts) {
      meter.add(part.byteLength);
      yield part;
    }
  } finally {
    meter.end();
  }
}

/** pulledResponse makes a response whose body is made while the client reads it. */
export function pulledResponse(
  pieces: AsyncGenerator<Uint8Array>,
  init: ResponseInit,
  { onEnd, ...options }: PulledOptions,
): Response {
  const meter = new StreamMeter();
  const body = pulledStream(metered(pieces, meter), {
    ...options,
    async onEnd() {
      // A client that leaves before the first piece leaves the generator unstarted, and the meter with it.
      meter.end();
      await onEnd?.();
    },
  });
  return sized(new Response(body, init), meter);
}

/** textResponse makes a response with a text as its body. */
export function textResponse(text: string, init?: ResponseInit): Response {
  return sized(new Response(text, init), Buffer.byteLength(text));
}

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
