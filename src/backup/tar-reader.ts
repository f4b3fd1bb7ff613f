import { Fault } from "../base/fault.ts";
import { blockBytes, checksumOf, type TarEntry } from "./tar.ts";

/** TarMember is a member of an archive that is being read. */
export interface TarMember extends TarEntry {
  /** The content, once. What is not read of it is skipped. */
  content(): AsyncIterable<Uint8Array>;
}

/** The largest extended header that is accepted: a path and two numbers. */
const maxPaxBytes = 64 * 1024;
/** tar pads an archive to whole records of 20 blocks; more zeros than that are refused. */
const maxTrailingBytes = 20 * blockBytes;

/**
 * `readTar` reads the members of an archive in their order. Throws `damaged` for anything but regular files and folders in the form
 * that `tarHeader` writes, for an archive without an end, and for data after it.
 */
export async function* readTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TarMember> {
  const source = new ByteSource(bytes);
  try {
    for (;;) {
      const block = await source.take(blockBytes);
      if (block.every((byte) => byte === 0)) return await readEnd(source);
      let entry = parseBlock(block);
      if (entry.kind === "pax") {
        if (entry.size > maxPaxBytes) throw damaged("an extended header is too long");
        const pax = parsePax(await source.take(entry.size));
        await source.skip(paddingOf(entry.size));
        const own = parseBlock(await source.take(blockBytes));
        entry = { ...own, ...pax };
      }
      const { kind, size } = entry;
      if (kind === "pax") throw damaged("two extended headers follow each other");
      let isRead = false;
      let left = size;
      yield {
        ...entry,
        kind,
        async *content() {
          if (isRead) throw new TypeError("a member was read twice");
          isRead = true;
          while (left > 0) {
            const part = await source.some(left);
            left -= part.length;
            yield part;
          }
        },
      };
      await source.skip(left + paddingOf(size));
    }
  } finally {
    await source.close();
  }
}

async function readEnd(source: ByteSource): Promise<void> {
  if ((await source.take(blockBytes)).some((byte) => byte !== 0)) throw damaged("its end mark is incomplete");
  let trailing = 0;
  for (let part = await source.next(); part !== undefined; part = await source.next()) {
    trailing += part.length;
    if (trailing > maxTrailingBytes || part.some((byte) => byte !== 0))
      throw damaged("something follows its end");
  }
}

function parseBlock(
  block: Uint8Array,
): Omit<TarEntry, "kind"> & { readonly kind: "file" | "folder" | "pax" } {
  const header = Buffer.from(block);
  const text = (at: number, length: number) =>
    header.toString("latin1", at, at + length).replace(/\0.*$/s, "");
  const octal = (at: number, length: number) => {
    const digits = text(at, length).trim();
    if (!/^[0-7]+$/.test(digits)) throw damaged("a header has an invalid number");
    return Number.parseInt(digits, 8);
  };
  if (text(257, 6) !== "ustar" || octal(148, 8) !== checksumOf(block)) throw damaged("a header is invalid");
  const prefix = text(345, 155);
  const kind = ({ "0": "file", "5": "folder", x: "pax" } as const)[text(156, 1)];
  if (kind === undefined) throw damaged("it contains something that is neither a file nor a folder");
  return {
    name: prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`,
    kind,
    size: octal(124, 12),
    mode: octal(100, 8),
    modifiedMs: octal(136, 12) * 1000,
  };
}

function parsePax(bytes: Uint8Array): Partial<TarEntry> {
  const found: { name?: string; size?: number; modifiedMs?: number } = {};
  const buffer = Buffer.from(bytes);
  for (let at = 0; at < buffer.length; ) {
    const space = buffer.indexOf(0x20, at);
    const length = Number(buffer.toString("latin1", at, space));
    if (space === -1 || !Number.isSafeInteger(length) || length <= space - at || at + length > buffer.length)
      throw damaged("an extended header is invalid");
    const [, key, value = ""] =
      /^([^=]*)=(.*)\n$/s.exec(buffer.toString("utf8", space + 1, at + length)) ?? [];
    if (key === "path") found.name = value;
    else if (key === "size" && /^\d{1,15}$/.test(value)) found.size = Number(value);
    else if (key === "mtime" && secondsForm.test(value)) found.modifiedMs = millisecondsOf(value);
    else throw damaged("an extended header is invalid");
    at += length;
  }
  return found;
}

const secondsForm = /^\d{1,12}(\.\d{1,9})?$/;

/** The parts are read one by one: the product of a fraction and 1000 is not exact. */
function millisecondsOf(seconds: string): number {
  const [whole, fraction = ""] = seconds.split(".");
  return Number(whole) * 1000 + Number(fraction.padEnd(9, "0")) / 1_000_000;
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

/** `damaged` is the error for a file that is not a whole backup. */
export function damaged(why: string): Fault {
  return new Fault("InvalidInput", `the backup is damaged: ${why}; nothing was changed`);
}

/** ByteSource hands out the bytes of a stream in the pieces that are asked for. */
class ByteSource {
  readonly #bytes: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#bytes = bytes[Symbol.asyncIterator]();
  }

  /** Returns what comes next; undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#bytes.next();
      if (done) return undefined;
      this.#rest = value;
    }
    const part = this.#rest;
    this.#rest = new Uint8Array();
    return part;
  }

  /** Returns at least one byte and at most `max`. */
  async some(max: number): Promise<Uint8Array> {
    const part = await this.next();
    if (part === undefined) throw damaged("its end is missing");
    this.#rest = part.subarray(max);
    return part.subarray(0, max);
  }

  async take(count: number): Promise<Uint8Array> {
    const taken = Buffer.alloc(count);
    for (let at = 0; at < count; ) {
      const part = await this.some(count - at);
      taken.set(part, at);
      at += part.length;
    }
    return taken;
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) left -= (await this.some(left)).length;
  }

  async close(): Promise<void> {
    await this.#bytes.return?.();
  }
}
