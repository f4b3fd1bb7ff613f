import { uncountedBytes } from "../../base/memory-budget.ts";
import { bodyChunks } from "../request/body-chunks.ts";

/** BodyRejected says why a body was not read to its end. */
export interface BodyRejected {
  readonly rejected: "too big" | "no memory";
}

export interface BodyBounds {
  readonly maxBytes: number;
  /** Counts this many bytes in total as held; false if the memory budget is spent. */
  hold(bytes: number): boolean;
}

/**
 * readBody reads the body of a request as text. A large one is counted in the memory budget as it arrives, so that a body that is
 * announced and never sent takes nothing from others.
 */
export function readBody(
  request: Request,
  bounds: BodyBounds,
): Promise<string | BodyRejected> | BodyRejected {
  const declared = request.headers.get("content-length");
  if (declared === null) return readChunks(request, uncountedBytes, bounds);
  const bytes = Number(declared);
  if (bytes > bounds.maxBytes) return { rejected: "too big" };
  return bytes <= uncountedBytes ? request.text() : readChunks(request, bytes, bounds);
}

async function readChunks(
  request: Request,
  expectedBytes: number,
  { maxBytes, hold }: BodyBounds,
): Promise<string | BodyRejected> {
  let buffer = Buffer.allocUnsafe(expectedBytes);
  let size = 0;
  for await (const chunk of bodyChunks(request)) {
    const end = size + chunk.byteLength;
    if (end > maxBytes) return { rejected: "too big" };
    if (!hold(end)) return { rejected: "no memory" };
    if (end > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(end, buffer.length * 2)));
      buffer.copy(larger, 0, 0, size);
      buffer = larger;
    }
    buffer.set(chunk, size);
    size = end;
  }
  return buffer.toString("utf8", 0, size);
}
