import { piecesOf } from "./content.ts";
import { Disconnected } from "./errors.ts";

/** The body of an answer; throws unless all of it comes. */
export async function* received(
  path: string,
  { body }: Response,
  total: number | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  const broke = (cause?: unknown) =>
    new Disconnected(`${path}: the connection broke after ${bytes} bytes`, undefined, { cause });
  try {
    for await (const part of body === null ? [] : piecesOf(body)) {
      signal?.throwIfAborted();
      bytes += part.length;
      yield part;
    }
  } catch (error) {
    throw signal?.aborted ? signal.reason : broke(error);
  }
  if (total !== undefined && bytes !== total) throw broke();
}

/** The whole answer, when it is a text. */
export async function textOf(
  response: Response,
  path: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new Disconnected(`${path}: the connection broke in the middle of the answer`, undefined, {
      cause: error,
    });
  }
}

/** Undefined as well for a compressed answer, whose length is not that of the file. */
export function lengthOf({ headers }: Response): number | undefined {
  const length = headers.get("content-length");
  return length === null || headers.has("content-encoding") ? undefined : Number(length);
}
