/** AnswerReader finds the ends of answers in the bytes of one connection. */
export interface AnswerReader {
  /** Takes the next bytes and returns how many answers became complete. Throws if an answer is not a success. */
  read(bytes: Buffer): number;
}

const headEnd = Buffer.from("\r\n\r\n");
const lineEnd = Buffer.from("\r\n");
const noBytes = Buffer.alloc(0);

/** HttpReader counts HTTP/1.1 responses with a length, with chunks, or without a body. Only 2xx is a success. */
export class HttpReader implements AnswerReader {
  /** Bytes of a head or of a chunk's first line that have not arrived whole. */
  #partial = noBytes;
  /** Bytes of the body, or of the chunk with its line end, that are still to come. */
  #missing = 0;
  readonly #isHead: boolean;
  #state: "head" | "body" | "chunk size" | "chunk" | "last line" = "head";

  /** `isHead` is for answers to HEAD, which name the length of a body that they do not have. */
  constructor({ isHead = false } = {}) {
    this.#isHead = isHead;
  }

  read(bytes: Buffer): number {
    let answers = 0;
    let rest = this.#partial.length === 0 ? bytes : Buffer.concat([this.#partial, bytes]);
    this.#partial = noBytes;
    while (rest.length > 0) {
      const taken = this.#step(rest);
      if (taken === undefined) {
        this.#partial = Buffer.from(rest);
        return answers;
      }
      rest = rest.subarray(taken);
      if (this.#state === "head") answers += 1;
    }
    return answers;
  }

  /** Bytes used up; undefined if more have to come first. */
  #step(rest: Buffer): number | undefined {
    if (this.#state === "head") return this.#readHead(rest);
    if (this.#state === "chunk size") return this.#readChunkSize(rest);
    const taken = Math.min(rest.length, this.#missing);
    this.#missing -= taken;
    if (this.#missing === 0) this.#state = this.#state === "chunk" ? "chunk size" : "head";
    return taken;
  }

  #readHead(rest: Buffer): number | undefined {
    const end = rest.indexOf(headEnd);
    if (end === -1) return undefined;
    const head = rest.toString("latin1", 0, end).toLowerCase();
    if (head[9] !== "2") throw new Error(`a request was answered with ${head.slice(0, 200)}`);
    const length = /\ncontent-length: *(\d+)/.exec(head)?.[1];
    if (this.#isHead) return end + headEnd.length;
    if (head.includes("\ntransfer-encoding: chunked")) this.#state = "chunk size";
    else if (length !== undefined || head.startsWith("204", 9)) {
      this.#missing = Number(length ?? 0);
      this.#state = this.#missing === 0 ? "head" : "body";
    } else throw new Error(`an answer has no length: ${head}`);
    return end + headEnd.length;
  }

  #readChunkSize(rest: Buffer): number | undefined {
    const end = rest.indexOf(lineEnd);
    if (end === -1) return undefined;
    const size = Number.parseInt(rest.toString("latin1", 0, end), 16);
    this.#missing = size + lineEnd.length;
    this.#state = size === 0 ? "last line" : "chunk";
    return end + lineEnd.length;
  }
}
