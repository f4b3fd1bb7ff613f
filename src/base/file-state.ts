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
    return new StatxState(this.#view);
  }
}

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

  constructor(result: DataView) {
    this.mode = result.getUint16(28, true);
    this.ino = numberAt(result, 32);
    this.size = numberAt(result, 40);
    this.blocks = numberAt(result, 48);
    this.atimeMs = timeMsAt(result, 64);
    this.birthtimeMs = timeMsAt(result, 80);
    this.ctimeMs = timeMsAt(result, 96);
    this.mtimeMs = timeMsAt(result, 112);
    this.dev = deviceNumber(result.getUint32(136, true), result.getUint32(140, true));
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

function numberAt(result: DataView, at: number): number {
  return result.getUint32(at, true) + result.getUint32(at + 4, true) * 2 ** 32;
}

/** Seconds, which are negative before 1970, and nanoseconds. */
function timeMsAt(result: DataView, at: number): number {
  const seconds = result.getUint32(at, true) + result.getInt32(at + 4, true) * 2 ** 32;
  return seconds * 1000 + result.getUint32(at + 8, true) / 1e6;
}

/** As `makedev(3)` puts it together. */
function deviceNumber(major: number, minor: number): number {
  return (minor & 0xff) + (major & 0xfff) * 2 ** 8 + (minor >>> 8) * 2 ** 20 + (major >>> 12) * 2 ** 44;
}
