import { hashesMatch } from "../../auth/credentials.ts";
import { hexNumber, wholeNumber } from "../../base/numbers.ts";
import { bodyChunks, declaredLength, readBody } from "../request/body.ts";
import { S3Error } from "./errors.ts";
import { type Signature, sha256 } from "./signature.ts";

/** A line that begins a chunk, and the lines of a trailer together. */
const maxLineBytes = 4096;
const maxTrailerBytes = 16 * 1024;

/** What `x-amz-content-sha256` says about a body that is not signed as a whole. */
const framings: Readonly<
  Record<string, { readonly isChunked: boolean; readonly isSigned: boolean; readonly hasTrailer: boolean }>
> = {
  "UNSIGNED-PAYLOAD": { isChunked: false, isSigned: false, hasTrailer: false },
  "STREAMING-UNSIGNED-PAYLOAD-TRAILER": { isChunked: true, isSigned: false, hasTrailer: true },
  "STREAMING-AWS4-HMAC-SHA256-PAYLOAD": { isChunked: true, isSigned: true, hasTrailer: false },
  "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER": { isChunked: true, isSigned: true, hasTrailer: true },
};

/** Body is the body of a request without its frames. All of it must be read: only then it is proven to be what was signed. */
export class Body {
  /** In bytes; undefined if the request does not say. */
  readonly length: number | undefined;
  /** The headers behind the body, once it was read. */
  trailer: ReadonlyMap<string, string> = new Map();
  readonly #request: Request;
  readonly #signature: Signature;
  readonly #framing: (typeof framings)[string] | undefined;

  constructor(request: Request, signature: Signature) {
    this.#request = request;
    this.#signature = signature;
    this.#framing = framings[signature.payload];
    if (this.#framing === undefined && !/^[0-9a-f]{64}$/.test(signature.payload))
      throw new S3Error(
        "NotImplemented",
        `x-amz-content-sha256 ${signature.payload.slice(0, 80)} is not known`,
      );
    this.length = this.#framing?.isChunked ? decodedLength(request) : declaredLength(request);
  }

  /** chunks yields the content. Throws S3Error for a body that was cut off, or is not what was signed. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    let size = 0;
    for await (const chunk of this.#framing?.isChunked ? this.#frames() : this.#whole()) {
      size += chunk.length;
      // At once: who reads the content trusts the length, and keeps a short one in memory.
      if (this.length !== undefined && size > this.length)
        throw new S3Error("IncompleteBody", `more than ${this.length} bytes arrived; nothing was changed`);
      yield chunk;
    }
    if (this.length !== undefined && size !== this.length)
      throw new S3Error("IncompleteBody", `${size} of ${this.length} bytes arrived; nothing was changed`);
  }

  /** bytes returns the content of a body whose length is known to be short: a stream costs more than writing it. */
  async bytes(): Promise<Uint8Array> {
    if (this.#framing?.isChunked) return Buffer.concat(await Array.fromAsync(this.chunks()));
    const bytes = await readBody(this.#request, this.length ?? 0);
    if (bytes === undefined || bytes.length !== this.length)
      throw new S3Error(
        "IncompleteBody",
        `${bytes?.length ?? "more"} of ${this.length} bytes arrived; nothing was changed`,
      );
    if (
      this.#framing === undefined &&
      Bun.CryptoHasher.hash("sha256", bytes, "hex") !== this.#signature.payload
    )
      throw wrongPayload();
    return bytes;
  }

  async *#whole(): AsyncGenerator<Uint8Array> {
    const hasher = this.#framing === undefined ? new Bun.CryptoHasher("sha256") : undefined;
    for await (const chunk of bodyChunks(this.#request)) {
      hasher?.update(chunk);
      yield chunk;
    }
    if (hasher !== undefined && hasher.digest("hex") !== this.#signature.payload) throw wrongPayload();
  }

  async *#frames(): AsyncGenerator<Uint8Array> {
    const isSigned = this.#framing?.isSigned === true;
    const source = new FrameSource(bodyChunks(this.#request));
    let previous = this.#signature.signature;
    // What arrived together goes on together: a client may send chunks of one byte, and each would be written by itself.
    let gathered: Uint8Array[] = [];
    let { reads } = source;
    for (;;) {
      const [, digits = "", given = ""] =
        /^([0-9a-fA-F]{1,8})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(await source.line()) ?? [];
      if (digits === "") throw notChunked();
      const size = hexNumber(digits) ?? 0;
      const hasher = isSigned ? new Bun.CryptoHasher("sha256") : undefined;
      for await (const part of source.take(size)) {
        hasher?.update(part);
        gathered.push(part);
        if (source.reads === reads) continue;
        yield joined(gathered);
        gathered = [];
        reads = source.reads;
      }
      if (hasher !== undefined) {
        const wanted = this.#signature.chunkSignature("PAYLOAD", previous, hasher.digest("hex"));
        if (!hashesMatch(wanted, given)) throw wrongChunk();
        previous = wanted;
      }
      if (size === 0) break;
      if ((await source.line()) !== "") throw notChunked();
    }
    if (gathered.length > 0) yield joined(gathered);
    await this.#readTrailer(source, previous);
  }

  async #readTrailer(source: FrameSource, previous: string): Promise<void> {
    const trailer = new Map<string, string>();
    let bytes = 0;
    for (let line = await source.lastLine(); line !== ""; line = await source.lastLine()) {
      bytes += line.length;
      const colon = line.indexOf(":");
      const name = line.slice(0, colon).trim().toLowerCase();
      if (colon <= 0 || bytes > maxTrailerBytes || trailer.has(name)) throw notChunked();
      trailer.set(name, line.slice(colon + 1).trim());
    }
    const given = trailer.get("x-amz-trailer-signature") ?? "";
    trailer.delete("x-amz-trailer-signature");
    if (!this.#framing?.hasTrailer) {
      if (trailer.size > 0) throw notChunked();
      return;
    }
    if (this.#framing.isSigned) {
      const hash = sha256([...trailer].map(([name, value]) => `${name}:${value}\n`).join(""));
      if (!hashesMatch(this.#signature.chunkSignature("TRAILER", previous, hash), given)) throw wrongChunk();
    }
    this.trailer = trailer;
  }
}

/** FrameSource reads lines and pieces of a body. */
class FrameSource {
  /** How many times the source had to wait for more of the body. */
  reads = 0;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** line returns the text up to the next end of a line. */
  async line(): Promise<string> {
    return (await this.#line()) ?? cutOff();
  }

  /** lastLine is empty also at the end of the body, where some clients leave out the last empty line. */
  async lastLine(): Promise<string> {
    return (await this.#line()) ?? "";
  }

  /** take yields the next bytes. */
  async *take(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) cutOff();
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  async #line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end !== -1) {
        const line = this.#rest.toString("latin1", 0, end);
        this.#rest = this.#rest.subarray(end + 1);
        return line.endsWith("\r") ? line.slice(0, -1) : line;
      }
      if (this.#rest.length > maxLineBytes) throw notChunked();
      if (await this.#more()) continue;
      if (this.#rest.length > 0) cutOff();
      return undefined;
    }
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.reads += 1;
    this.#rest =
      this.#rest.length === 0
        ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
        : Buffer.concat([this.#rest, value]);
    return true;
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}

function decodedLength({ headers }: Request): number {
  const length = wholeNumber(headers.get("x-amz-decoded-content-length"));
  if (length === undefined)
    throw new S3Error("InvalidRequest", "the header x-amz-decoded-content-length is missing");
  return length;
}

function cutOff(): never {
  throw new S3Error("IncompleteBody", "the body ends too early; nothing was changed");
}

function notChunked(): S3Error {
  return new S3Error("InvalidRequest", "the body is not in the form that x-amz-content-sha256 names");
}

function wrongPayload(): S3Error {
  return new S3Error(
    "XAmzContentSHA256Mismatch",
    "the body does not match x-amz-content-sha256; nothing was changed",
  );
}

function wrongChunk(): S3Error {
  return new S3Error(
    "SignatureDoesNotMatch",
    "the signature of a chunk of the body is wrong; nothing was changed",
  );
}
