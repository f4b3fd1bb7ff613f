import { pipeline } from "node:stream";
import { promisify } from "node:util";
import { crc32, createDeflateRaw, deflateRaw, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { Fault } from "../base/fault.ts";
import { Pacer } from "../base/turns.ts";
import { pathBelow, type TreePath } from "../buckets/path.ts";
import type { FileEntry, FileReader, OpenFile } from "../buckets/ports.ts";
import { walk } from "../buckets/tree-ops.ts";
import { mediaTypeOf } from "./content/media-type.ts";

/** Files up to this size are read as a whole: their sizes are known beforehand, and a stream would cost more. */
const maxWholeBytes = 64 * 1024;
/** Compressing a smaller file saves nothing. */
const minCompressibleBytes = 64;
/** From here on the sizes take 64 bits. What deflate may add to content that it cannot compress is far below the difference. */
const minLargeBytes = 0xf000_0000;
/** Smaller pieces are sent together. */
const pieceBytes = 64 * 1024;

/** ArchiveSource is what an archive is made of. */
interface ArchiveSource {
  readonly reader: FileReader;
  /** Names in the archive are relative to this folder. */
  readonly folder: TreePath;
  /** The one folder at the top of the archive, which contains everything else. */
  readonly top: string;
  /** Files and folders below `folder`; undefined for all of it. */
  readonly paths: readonly TreePath[] | undefined;
  readonly compresses: boolean;
  /** The time of the folder at the top, in Unix milliseconds. */
  readonly madeAtMs: number;
}

/**
 * Archive is a ZIP archive that is made while it is sent, with one open file at a time. Each file is as it is when its turn
 * comes; one that was deleted before is not in the archive. Anything else that cannot be read ends the archive with an error
 * before its directory, without which no program takes it for a whole one.
 */
export class Archive {
  readonly #source: ArchiveSource;
  readonly #directory = new CentralDirectory();
  #offset = 0;

  constructor(source: ArchiveSource) {
    this.#source = source;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    let held: Uint8Array[] = [];
    let heldBytes = 0;
    for await (const part of this.#parts()) {
      this.#offset += part.length;
      if (heldBytes === 0 && part.length >= pieceBytes) {
        yield part;
        continue;
      }
      held.push(part);
      heldBytes += part.length;
      if (heldBytes < pieceBytes) continue;
      yield Buffer.concat(held);
      held = [];
      heldBytes = 0;
    }
    yield Buffer.concat(held);
    yield* this.#directory.pieces(this.#offset);
  }

  async *#parts(): AsyncGenerator<Uint8Array> {
    const { reader, folder, paths, madeAtMs } = this.#source;
    const pacer = new Pacer();
    yield* this.#folder(folder, madeAtMs);
    if (paths === undefined) return yield* this.#below(folder, pacer);
    for (const path of paths) {
      if (pacer.isDue) await pacer.nextTurn();
      const entry = await reader.find(path);
      if (entry === undefined) continue;
      yield* this.#entry(entry);
      if (entry.kind === "folder") yield* this.#below(path, pacer);
    }
  }

  async *#below(folder: TreePath, pacer: Pacer): AsyncGenerator<Uint8Array> {
    for await (const entry of unlessGone(walk(this.#source.reader, folder))) {
      if (pacer.isDue) await pacer.nextTurn();
      yield* this.#entry(entry);
    }
  }

  async *#entry({ kind, path, stats }: FileEntry): AsyncGenerator<Uint8Array> {
    if (kind === "folder") return yield* this.#folder(path, stats.modifiedMs);
    const found = await this.#source.reader.openOrFind(path);
    // Deleted since the folder was listed, or replaced by a folder.
    if (found === undefined || "kind" in found) return;
    await using file = found;
    yield* this.#file(path, file);
  }

  *#folder(path: TreePath, modifiedMs: number): Generator<Uint8Array> {
    const member: Member = {
      name: this.#nameOf(path, "/"),
      kind: "folder",
      modifiedMs,
      method: "stored",
      hasDescriptor: false,
      isLarge: false,
    };
    this.#list(member, empty);
    yield localHeader(member);
  }

  async *#file(path: TreePath, file: OpenFile): AsyncGenerator<Uint8Array> {
    const { size, modifiedMs } = file.stats;
    const common = {
      name: this.#nameOf(path),
      kind: "file",
      modifiedMs,
      isLarge: size >= minLargeBytes,
    } as const;
    const compresses =
      this.#source.compresses && size >= minCompressibleBytes && mediaTypeOf(path).compressible;
    if (size > maxWholeBytes)
      return yield* this.#large({ ...common, method: "deflated", hasDescriptor: true }, file, compresses);
    const bytes = await file.bytes();
    const smaller = compresses ? await deflateWhole(bytes) : bytes;
    const isSmaller = smaller.length < bytes.length;
    const sent = isSmaller ? smaller : bytes;
    const member = { ...common, method: isSmaller ? "deflated" : "stored", hasDescriptor: false } as const;
    const content = { crc: crc32(bytes), compressed: sent.length, size: bytes.length };
    this.#list(member, content);
    yield localHeader(member, content);
    yield sent;
  }

  async *#large(member: Member, file: OpenFile, compresses: boolean): AsyncGenerator<Uint8Array> {
    const content = { crc: 0, size: 0, compressed: 0 };
    const offset = this.#offset;
    const header = localHeader(member);
    yield header;
    async function* checked(): AsyncGenerator<Uint8Array> {
      for await (const chunk of file.chunks()) {
        content.crc = crc32(chunk, content.crc);
        content.size += chunk.length;
        yield chunk;
      }
    }
    for await (const piece of compresses ? deflated(checked()) : undeflated(checked())) {
      content.compressed += piece.length;
      yield piece;
    }
    yield descriptor(member, content);
    this.#directory.add(centralHeader(member, content, { offset }));
  }

  /** Adds a member that begins here to the directory. */
  #list(member: Member, content: Content): void {
    this.#directory.add(centralHeader(member, content, { offset: this.#offset }));
  }

  /** A `TreePath` has no `..`, backslash or slash at its beginning, and `top` comes before it. */
  #nameOf(path: TreePath, slash = ""): Buffer {
    const { folder, top } = this.#source;
    const below = path === folder ? "" : `/${pathBelow(path, folder)}`;
    const name = Buffer.from(`${top}${below}${slash}`);
    if (name.length <= maxNameBytes) return name;
    throw new Fault("InvalidInput", `a path is too long for a ZIP archive (${maxNameBytes} bytes)`, { path });
  }
}

const empty: Content = { crc: 0, compressed: 0, size: 0 };

/** A folder that vanishes before it is listed has nothing to add. */
async function* unlessGone(entries: AsyncGenerator<FileEntry>): AsyncGenerator<FileEntry> {
  try {
    yield* entries;
  } catch (error) {
    if (!(error instanceof Fault && error.kind === "NotFound")) throw error;
  }
}

/** Member is what the records of a ZIP archive say of one file or folder. A folder's name ends in a slash. */
export interface Member {
  /** UTF-8. */
  readonly name: Buffer;
  readonly kind: "file" | "folder";
  readonly modifiedMs: number;
  readonly method: "stored" | "deflated";
  /** Whether sizes and CRC follow the content, because they are not known before it. */
  readonly hasDescriptor: boolean;
  /** Whether the sizes may need 64 bits. Known before the content, because it decides the form of the records around it. */
  readonly isLarge: boolean;
}

/** Content is what is known of a member once its content was read. */
interface Content {
  readonly crc: number;
  readonly compressed: number;
  readonly size: number;
}

/** maxNameBytes is the longest name that a record can hold. */
const maxNameBytes = 0xffff;
/** maxSize32 is the first number that takes 64 bits: this one means that another field has the number. */
const maxSize32 = 0xffff_ffff;
const maxCount16 = 0xffff;

/** 4.5 of the specification (APPNOTE): the version with ZIP64. */
const version = 45;
const madeByUnix = 3 << 8;
const methods = { stored: 0, deflated: 8 } as const;
const hasDescriptorFlag = 1 << 3;
const utf8Flag = 1 << 11;
/** Permissions of Unix in the upper half, MS-DOS's mark of a folder in the lower one. */
const attributes = { file: 0o100644 * 0x1_0000, folder: 0o040755 * 0x1_0000 + 0x10 } as const;
const unknownContent: Content = { crc: 0, compressed: 0, size: 0 };

/** localHeader comes before the content: APPNOTE §4.3.7. */
export function localHeader(member: Member, known: Content = unknownContent): Buffer {
  const { name, isLarge } = member;
  const sizes = isLarge ? sizesField([known.size, known.compressed]) : Buffer.alloc(0);
  const extra = Buffer.concat([sizes, timeField(member)]);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x0403_4b50, 0);
  writeCommon(header, 4, member);
  header.writeUInt32LE(known.crc, 14);
  header.writeUInt32LE(isLarge ? maxSize32 : known.compressed, 18);
  header.writeUInt32LE(isLarge ? maxSize32 : known.size, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

/** descriptor comes after a content whose sizes were not known before: APPNOTE §4.3.9. */
function descriptor({ isLarge }: Member, { crc, compressed, size }: Content): Buffer {
  const record = Buffer.alloc(isLarge ? 24 : 16);
  record.writeUInt32LE(0x0807_4b50, 0);
  record.writeUInt32LE(crc, 4);
  if (isLarge) {
    record.writeBigUInt64LE(BigInt(compressed), 8);
    record.writeBigUInt64LE(BigInt(size), 16);
  } else {
    record.writeUInt32LE(compressed, 8);
    record.writeUInt32LE(size, 12);
  }
  return record;
}

/** centralHeader returns the member's record in the directory at the end; `offset` is that of its local header. APPNOTE §4.3.12. */
export function centralHeader(
  member: Member,
  { crc, compressed, size }: Content,
  { offset }: { readonly offset: number },
): Buffer {
  // Only what does not fit is in the field, in this order: APPNOTE §4.5.3.
  const large = [size, compressed, offset].filter((value) => value >= maxSize32);
  const sizes = large.length === 0 ? Buffer.alloc(0) : sizesField(large);
  const extra = Buffer.concat([sizes, timeField(member)]);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x0201_4b50, 0);
  header.writeUInt16LE(madeByUnix | version, 4);
  writeCommon(header, 6, member);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(Math.min(compressed, maxSize32), 20);
  header.writeUInt32LE(Math.min(size, maxSize32), 24);
  header.writeUInt16LE(member.name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(attributes[member.kind], 38);
  header.writeUInt32LE(Math.min(offset, maxSize32), 42);
  return Buffer.concat([header, member.name, extra]);
}

/** Directory is where the records of all members are. */
interface Directory {
  readonly count: number;
  readonly bytes: number;
  readonly offset: number;
}

/** endOfArchive is all that follows the directory: APPNOTE §4.3.14 to §4.3.16. */
function endOfArchive({ count, bytes, offset }: Directory): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x0605_4b50, 0);
  end.writeUInt16LE(Math.min(count, maxCount16), 8);
  end.writeUInt16LE(Math.min(count, maxCount16), 10);
  end.writeUInt32LE(Math.min(bytes, maxSize32), 12);
  end.writeUInt32LE(Math.min(offset, maxSize32), 16);
  if (count < maxCount16 && bytes < maxSize32 && offset < maxSize32) return end;
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x0606_4b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeUInt16LE(madeByUnix | version, 12);
  end64.writeUInt16LE(version, 14);
  end64.writeBigUInt64LE(BigInt(count), 24);
  end64.writeBigUInt64LE(BigInt(count), 32);
  end64.writeBigUInt64LE(BigInt(bytes), 40);
  end64.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x0706_4b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + bytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([end64, locator, end]);
}

/** Version, flags, method and time, which both records of a member have in this order. */
function writeCommon(header: Buffer, at: number, { hasDescriptor, method, modifiedMs }: Member): void {
  header.writeUInt16LE(version, at);
  header.writeUInt16LE(utf8Flag | (hasDescriptor ? hasDescriptorFlag : 0), at + 2);
  header.writeUInt16LE(methods[method], at + 4);
  header.writeUInt32LE(dosTime(modifiedMs), at + 6);
}

/** The field of ZIP64: numbers of 64 bits. */
function sizesField(values: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + 8 * values.length);
  field.writeUInt16LE(0x0001, 0);
  field.writeUInt16LE(8 * values.length, 2);
  for (const [at, value] of values.entries()) field.writeBigUInt64LE(BigInt(value), 4 + 8 * at);
  return field;
}

/** The time in seconds of Unix, which does not depend on a time zone as that of MS-DOS does ("UT", of Info-ZIP). */
function timeField({ modifiedMs }: Member): Buffer {
  const seconds = Math.floor(modifiedMs / 1000);
  if (seconds < -0x8000_0000 || seconds > 0x7fff_ffff) return Buffer.alloc(0);
  const field = Buffer.alloc(9);
  field.writeUInt16LE(0x5455, 0);
  field.writeUInt16LE(5, 2);
  field[4] = 1;
  field.writeInt32LE(seconds, 5);
  return field;
}

/** Two seconds in a unit, from 1980 to 2107, in UTC. */
function dosTime(milliseconds: number): number {
  const earliest = Date.UTC(1980, 0, 1);
  const latest = Date.UTC(2107, 11, 31, 23, 59, 58);
  const at = new Date(Math.min(Math.max(milliseconds, earliest), latest));
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((date << 16) | time) >>> 0;
}

/** Records that are compressed together: 0.1 ms of work. */
const blockBytes = 64 * 1024;

/**
 * CentralDirectory keeps the records of all members until the end of an archive. They are compressed meanwhile, because names in
 * a folder are alike: a member with a name of 60 characters takes about 25 bytes.
 */
export class CentralDirectory {
  readonly #blocks: Buffer[] = [];
  #open: Buffer[] = [];
  #openBytes = 0;
  #count = 0;
  #bytes = 0;

  add(record: Buffer): void {
    this.#open.push(record);
    this.#openBytes += record.length;
    this.#count += 1;
    this.#bytes += record.length;
    if (this.#openBytes < blockBytes) return;
    this.#blocks.push(zstdCompressSync(Buffer.concat(this.#open)));
    this.#open = [];
    this.#openBytes = 0;
  }

  /** All records, and the end of the archive, in which the directory begins at `offset`. */
  *pieces(offset: number): Generator<Uint8Array> {
    for (const block of this.#blocks) yield zstdDecompressSync(block);
    yield Buffer.concat([...this.#open, endOfArchive({ count: this.#count, bytes: this.#bytes, offset })]);
  }
}

/** The longest block that RFC 1951 §3.2.4 has for content that is not compressed. */
const maxStoredBlock = 0xffff;

/** deflateWhole compresses content that is in memory. */
const deflateWhole = promisify(deflateRaw) as unknown as (bytes: Uint8Array) => Promise<Uint8Array>;

/** deflated compresses content while it is read. A reader that ends early ends the source too. */
async function* deflated(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const deflate = createDeflateRaw();
  // A failure of the source is thrown by the loop.
  pipeline(chunks, deflate, () => undefined);
  for await (const piece of deflate) yield piece as Uint8Array;
}

/**
 * undeflated wraps content in blocks of deflate without compressing it, 5 bytes for each 64 KiB. So its end is in the content,
 * which readers need that do not know the size beforehand.
 */
async function* undeflated(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    const blocks: Uint8Array[] = [];
    for (let at = 0; at < chunk.length; at += maxStoredBlock) {
      const block = chunk.subarray(at, at + maxStoredBlock);
      blocks.push(blockHeader(block.length, { isLast: false }), block);
    }
    yield Buffer.concat(blocks);
  }
  yield blockHeader(0, { isLast: true });
}

function blockHeader(length: number, { isLast }: { readonly isLast: boolean }): Buffer {
  const header = Buffer.alloc(5);
  header[0] = isLast ? 1 : 0;
  header.writeUInt16LE(length, 1);
  header.writeUInt16LE(~length & 0xffff, 3);
  return header;
}
