/** Content is what a file can be uploaded from. An async iterable may be a stream of Node's. */
export type Content =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/** Whole is content that is at hand completely, so that its size is known. */
export type Whole = Exclude<Content, ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>>;

export const pieceBytes = 256 * 1024;

export function isWhole(content: Content): content is Whole {
  return (
    typeof content === "string" ||
    content instanceof Uint8Array ||
    content instanceof ArrayBuffer ||
    content instanceof Blob
  );
}

/** Encodes a text, so that its size is known. A blob stays one: it may be a large file on a disk. */
export function toBytes(content: Whole): Uint8Array | Blob {
  if (typeof content === "string") return new TextEncoder().encode(content);
  return content instanceof ArrayBuffer ? new Uint8Array(content) : content;
}

export function sizeOf(content: Uint8Array | Blob): number {
  return content instanceof Blob ? content.size : content.length;
}

export async function isSame(one: Uint8Array | Blob, other: Uint8Array | Blob): Promise<boolean> {
  const [bytes, others] = [await inMemory(one), await inMemory(other)];
  return bytes.length === others.length && bytes.every((byte, at) => byte === others[at]);
}

async function inMemory(content: Uint8Array | Blob): Promise<Uint8Array> {
  return content instanceof Blob ? new Uint8Array(await content.arrayBuffer()) : content;
}

/** Yields the content in pieces of at most `pieceBytes`, small enough to report progress by. */
export async function* piecesOf(content: Uint8Array | Blob | Content): AsyncGenerator<Uint8Array, void> {
  if (isWhole(content)) return yield* slices(toBytes(content));
  for await (const part of content instanceof ReadableStream ? readFrom(content) : content)
    yield* slices(typeof part === "string" ? new TextEncoder().encode(part) : part);
}

async function* slices(whole: Uint8Array | Blob): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < sizeOf(whole); at += pieceBytes) {
    if (whole instanceof Blob) yield new Uint8Array(await whole.slice(at, at + pieceBytes).arrayBuffer());
    else yield whole.subarray(at, at + pieceBytes);
  }
}

/** Reads a stream by its reader, because not every browser can iterate over one. */
async function* readFrom(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  let whole = false;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
    whole = true;
  } finally {
    if (!whole) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

/** Body is a stream for `fetch` that remembers an error of its source, so that it is not taken for one of the network. */
export class Body {
  failure: { readonly error: unknown } | undefined;
  readonly stream: ReadableStream<Uint8Array>;
  readonly #pieces: AsyncGenerator<Uint8Array, void>;
  #closed = false;

  constructor(content: Content, onProgress: (bytes: number) => void) {
    const pieces = piecesOf(content);
    this.#pieces = pieces;
    let bytes = 0;
    let isCancelled = false;
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await pieces.next();
            // The request ended while the piece was read, such as by a broken connection.
            if (isCancelled) return;
            // Error instead of close: a file must not end where its source was released.
            if (this.#closed) return controller.error(new Error("the upload is over"));
            if (done) return controller.close();
            controller.enqueue(value);
            bytes += value.length;
            onProgress(bytes);
          } catch (error) {
            this.failure = { error };
            controller.error(error);
          }
        },
        cancel: async () => {
          isCancelled = true;
          await pieces.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Releases the source, which Node does not do when a request ends early. Does not wait for it: a source may be stuck. */
  close(): void {
    this.#closed = true;
    this.#pieces.return().catch(() => {});
  }
}
