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
