import { Fault } from "../base/fault.ts";

/** TarEntry describes one member of a tar archive. */
export interface TarEntry {
  readonly name: string;
  readonly kind: "file" | "folder";
  /** Bytes of the content; 0 for a folder. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** What is stored with the content of a file, if anything is. */
  readonly record?: Uint8Array | undefined;
}

/** The extended header of a record, in base64. Other programs leave out such a header, and may say so. */
const recordKey = "NODESERVER.record";

const blockBytes = 512;
/** Two empty blocks end an archive. */
export const endOfArchive = Buffer.alloc(2 * blockBytes);

/** The largest value of an octal field of eleven digits. */
const maxOctal = 8 ** 11 - 1;

/**
 * `tarHeader` returns the header of a member in the format of POSIX.1-2001: ustar, preceded by an extended header ("pax") where ustar
 * cannot express the entry, such as a long name, one that is not ASCII, a fraction of a second, 8 GiB or a record.
 */
export function tarHeader(entry: TarEntry): Buffer {
  const { name, size, modifiedMs, record } = entry;
  const records: string[] = [];
  const isPlain = /^[\x20-\x7e]*$/.test(name);
  const short = isPlain ? splitName(name) : undefined;
  if (short === undefined) records.push(paxRecord("path", name));
  if (size > maxOctal) records.push(paxRecord("size", String(size)));
  if (modifiedMs % 1000 !== 0) records.push(paxRecord("mtime", secondsText(modifiedMs)));
  if (record !== undefined) records.push(paxRecord(recordKey, Buffer.from(record).toString("base64")));
  const own = ustarBlock(
    entry,
    short ?? { prefix: "", name: name.replace(/[^\x20-\x7e]/g, "_").slice(0, 100) },
  );
  if (records.length === 0) return own;
  const extended = Buffer.from(records.join(""));
  const pax = { name: "pax", size: extended.length, mode: 0o600, modifiedMs: 0 };
  return Buffer.concat([
    ustarBlock({ ...pax, kind: "pax" }, { prefix: "", name: "pax" }),
    extended,
    padding(extended.length),
    own,
  ]);
}

/** `padding` returns the zeros after a content of this size. */
export function padding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** `secondsText` returns a time in seconds with six digits after the point; times before 1970 become 0. */
function secondsText(ms: number): string {
  const microseconds = Math.max(0, Math.round(ms * 1000));
  const seconds = Math.floor(microseconds / 1_000_000);
  return `${seconds}.${String(microseconds % 1_000_000).padStart(6, "0")}`;
}

/** A record is `<length> <key>=<value>\n`, and the length includes its own digits. */
function paxRecord(key: string, value: string): string {
  const bytes = Buffer.byteLength(` ${key}=${value}\n`);
  let length = bytes + String(bytes).length;
  if (String(length).length !== String(bytes).length) length = bytes + String(length).length;
  return `${length} ${key}=${value}\n`;
}

interface SplitName {
  readonly prefix: string;
  readonly name: string;
}

/** ustar has 155 bytes for folders and 100 for the rest. */
function splitName(name: string): SplitName | undefined {
  if (name.length <= 100) return { prefix: "", name };
  for (let at = name.indexOf("/"); at !== -1 && at <= 155; at = name.indexOf("/", at + 1))
    if (name.length - at - 1 <= 100 && at + 1 < name.length)
      return { prefix: name.slice(0, at), name: name.slice(at + 1) };
  return undefined;
}

type BlockKind = TarEntry["kind"] | "pax";
const typeFlags: Readonly<Record<BlockKind, string>> = { file: "0", folder: "5", pax: "x" };

function ustarBlock(
  { kind, size, mode, modifiedMs }: Omit<TarEntry, "kind"> & { readonly kind: BlockKind },
  { prefix, name }: SplitName,
): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, digits: number) =>
    block.write(`${Math.max(0, value).toString(8).padStart(digits, "0")}\0`, at, "latin1");
  block.write(name, 0, "latin1");
  octal(mode & 0o7777, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size > maxOctal ? 0 : size, 124, 11);
  octal(Math.min(maxOctal, Math.floor(modifiedMs / 1000)), 136, 11);
  block.write("        ", 148, "latin1");
  block.write(typeFlags[kind], 156, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  block.write(prefix, 345, "latin1");
  block.write(`${checksumOf(block).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** `checksumOf` returns the sum of all bytes of a header, its own field taken as spaces. */
function checksumOf(block: Uint8Array): number {
  let sum = 0;
  for (let at = 0; at < blockBytes; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (block[at] ?? 0);
  return sum;
}

/** TarMember is a member of an archive that is being read. */
export interface TarMember extends TarEntry {
  /** The content, once. What is not read of it is skipped. */
  content(): AsyncIterable<Uint8Array>;
}

/** The largest extended header that is accepted: a path, two numbers and a record. */
const maxPaxBytes = 512 * 1024;
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
  if (kind === undefined) throw damaged("it contains something that is not a file or a folder");
  return {
    name: prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`,
    kind,
    size: octal(124, 12),
    mode: octal(100, 8),
    modifiedMs: octal(136, 12) * 1000,
  };
}

function parsePax(bytes: Uint8Array): Partial<TarEntry> {
  const found: { name?: string; size?: number; modifiedMs?: number; record?: Uint8Array } = {};
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
    else if (key === recordKey) found.record = Buffer.from(value, "base64");
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

/** `damaged` returns the error for a file that is not a whole backup. */
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
