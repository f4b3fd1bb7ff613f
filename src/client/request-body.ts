import { isBrowser } from "./browser-upload.ts";
import { Body, type Content, pieceBytes, piecesOf } from "./content.ts";

/** Chooses the body of a request: at once and with its length, if it is small or in memory without `onProgress`; else a stream. */
export async function toBody(
  content: Uint8Array | Blob | Content,
  onProgress: ((bytes: number) => void) | undefined,
): Promise<Uint8Array | Blob | Body> {
  if (content instanceof Blob && content.size <= pieceBytes)
    return new Uint8Array(await content.arrayBuffer());
  const inMemory = content instanceof Uint8Array;
  if (inMemory && (onProgress === undefined || content.length <= pieceBytes)) return content;
  if (isBrowser() && (inMemory || content instanceof Blob)) return content;
  return new Body(content, onProgress ?? (() => {}));
}

/** Collects a stream, unless `signal` fires first; then it does not wait for the source, which may be stuck. */
export async function collect(content: Content, signal: AbortSignal | undefined): Promise<Blob> {
  signal?.throwIfAborted();
  const pieces = piecesOf(content);
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason);
  });
  signal?.addEventListener("abort", stop);
  const parts: Uint8Array[] = [];
  try {
    for (;;) {
      const { done, value } = await Promise.race([pieces.next(), stopped]);
      if (done) return new Blob(parts as Uint8Array<ArrayBuffer>[]);
      parts.push(value);
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    pieces.return().catch(() => {});
  }
}
