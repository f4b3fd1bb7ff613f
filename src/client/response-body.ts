import { piecesOf } from "./content.ts";
import { Disconnected } from "./errors.ts";

/** The file that a response holds, and what may end its reading. */
export interface BodySource {
  readonly path: string;
  readonly signal: AbortSignal | undefined;
}

/** Yields the body of a response. Throws `Disconnected` unless all of it arrives. */
export async function* bodyPieces(
  response: Response,
  { path, signal }: BodySource,
): AsyncGenerator<Uint8Array, void> {
  const { body } = response;
  const total = bodyLength(response);
  let bytes = 0;
  const broken = (cause?: unknown) =>
    new Disconnected(`${path}: the connection broke after ${bytes} bytes`, undefined, { cause });
  try {
    for await (const part of body === null ? [] : piecesOf(body)) {
      signal?.throwIfAborted();
      bytes += part.length;
      yield part;
    }
  } catch (error) {
    throw signal?.aborted ? signal.reason : broken(error);
  }
  if (total !== undefined && bytes !== total) throw broken();
}

/** Reads the body of a response as text. Throws `Disconnected` unless all of it arrives. */
export async function bodyText(response: Response, { path, signal }: BodySource): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new Disconnected(`${path}: the connection broke in the middle of the answer`, undefined, {
      cause: error,
    });
  }
}

/** Undefined without a `Content-Length`, and for a compressed response, whose length is not that of the file. */
export function bodyLength({ headers }: Response): number | undefined {
  const length = headers.get("content-length");
  return length === null || headers.has("content-encoding") ? undefined : Number(length);
}
