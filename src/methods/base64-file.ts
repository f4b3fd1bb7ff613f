import type { FileHandle } from "node:fs/promises";
import { Fault } from "../base/fault.ts";
import type { StreamedJson } from "../rpc/large-answer.ts";

/** So much of a file is read at a time; base64 makes four letters of three bytes. */
const pieceBytes = 192 * 1024;

/** A file as a JSON text of base64, read while it is sent. It is as long as it was when it was opened, or the stream fails. */
export class Base64File implements StreamedJson {
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly isStreamedJson = true;
  readonly bytes: number;
  #isClosed = false;

  constructor(handle: FileHandle, size: number) {
    this.#handle = handle;
    this.#size = size;
    this.bytes = base64Length(size) + 2;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from('"');
      for (let at = 0; at < this.#size; at += pieceBytes) {
        const wanted = Math.min(pieceBytes, this.#size - at);
        yield Buffer.from((await this.#read(at, wanted)).toString("base64"), "latin1");
      }
      yield Buffer.from('"');
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#handle.close();
  }

  async #read(at: number, wanted: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(wanted);
    for (let got = 0; got < wanted; ) {
      const { bytesRead } = await this.#handle.read(buffer, got, wanted - got, at + got);
      if (bytesRead === 0)
        throw new Fault("IoError", "the file was cut short while it was read; read it again");
      got += bytesRead;
    }
    return buffer;
  }
}

/** The letters of base64 that so many bytes become. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
