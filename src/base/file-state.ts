import type { Stats } from "node:fs";

/** FileState is what the system tells about a file or folder: the members of Node's `Stats` that buckets need. */
export type FileState = Pick<
  Stats,
  | "dev"
  | "ino"
  | "mode"
  | "size"
  | "blocks"
  | "mtimeMs"
  | "ctimeMs"
  | "atimeMs"
  | "birthtimeMs"
  | "isFile"
  | "isDirectory"
  | "isSymbolicLink"
>;

/** The part of a file's mode that is its type. */
const typeBits = 0o170000;
const [file, folder, link] = [0o100000, 0o040000, 0o120000];

/** StatxBuffer is memory for a result of `statx(2)` of Linux, whose layout is the same on every processor. */
export class StatxBuffer {
  readonly bytes = Buffer.alloc(256);
  readonly #view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);

  /** The present result, with the numbers that Node has for it. */
  state(): FileState {
    return new StatxState({
      mode: this.#view.getUint16(28, true),
      ino: this.#number(32),
      size: this.#number(40),
      blocks: this.#number(48),
      atimeMs: this.#timeMs(64),
      birthtimeMs: this.#timeMs(80),
      ctimeMs: this.#timeMs(96),
      mtimeMs: this.#timeMs(112),
      dev: deviceNumber(this.#view.getUint32(136, true), this.#view.getUint32(140, true)),
    });
  }

  #number(at: number): number {
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
  }

  /** Seconds, which are negative before 1970, and nanoseconds. */
  #timeMs(at: number): number {
    const seconds = this.#view.getUint32(at, true) + this.#view.getInt32(at + 4, true) * 2 ** 32;
    return seconds * 1000 + this.#view.getUint32(at + 8, true) / 1e6;
  }
}

type Values = Omit<FileState, "isFile" | "isDirectory" | "isSymbolicLink">;

class StatxState implements FileState {
  readonly dev: number;
  readonly ino: number;
  readonly mode: number;
  readonly size: number;
  readonly blocks: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly atimeMs: number;
  readonly birthtimeMs: number;

  constructor({ dev, ino, mode, size, blocks, mtimeMs, ctimeMs, atimeMs, birthtimeMs }: Values) {
    this.dev = dev;
    this.ino = ino;
    this.mode = mode;
    this.size = size;
    this.blocks = blocks;
    this.mtimeMs = mtimeMs;
    this.ctimeMs = ctimeMs;
    this.atimeMs = atimeMs;
    this.birthtimeMs = birthtimeMs;
  }

  isFile(): boolean {
    return (this.mode & typeBits) === file;
  }

  isDirectory(): boolean {
    return (this.mode & typeBits) === folder;
  }

  isSymbolicLink(): boolean {
    return (this.mode & typeBits) === link;
  }
}

/** As `makedev(3)` puts it together. */
function deviceNumber(major: number, minor: number): number {
  return (minor & 0xff) + (major & 0xfff) * 2 ** 8 + (minor >>> 8) * 2 ** 20 + (major >>> 12) * 2 ** 44;
}
