import { uncountedBytes } from "../../base/memory-budget.ts";
import { bodyPieces } from "../request/body-chunks.ts";

/** Why a body was not read to its end. */
export interface Unread {
  readonly unread: "too big" | "no memory";
}

export interface BodyBounds {
  readonly maxBytes: number;
  /** Counts so many bytes in all as held; false when there is no memory for them. */
  hold(bytes: number): boolean;
}

/**
 * The body of a request as text. A large one is counted while it arrives, so that a body that is announced and never sent
 * takes nothing from others.
 */
export function readBody(request: Request, bounds: BodyBounds): Promise<string | Unread> | Unread {
  const declared = request.headers.get("content-length");
  if (declared === null) return readChunks(request, uncountedBytes, bounds);
  const bytes = Number(declared);
  if (bytes > bounds.maxBytes) return { unread: "too big" };
  return bytes <= uncountedBytes ? request.text() : readChunks(request, bytes, bounds);
}

async function readChunks(
  request: Request,
  expectedBytes: number,
  { maxBytes, hold }: BodyBounds,
): Promise<string | Unread> {
  let buffer = Buffer.allocUnsafe(expectedBytes);
  let size = 0;
  for await (const chunk of bodyPieces(request)) {
    const end = size + chunk.byteLength;
    if (end > maxBytes) return { unread: "too big" };
    if (!hold(end)) return { unread: "no memory" };
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
