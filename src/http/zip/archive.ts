import { crc32 } from "node:zlib";
import { Fault } from "../../base/fault.ts";
import { Pacer } from "../../base/turns.ts";
import type { FileEntry, FileReader, OpenFile } from "../../buckets/file-reader.ts";
import { pathBelow, type TreePath } from "../../buckets/path.ts";
import { mediaTypeOf } from "../content/media-type.ts";
import { CentralDirectory } from "./central-directory.ts";
import { deflated, deflateWhole, undeflated } from "./deflate.ts";
import {
  type Content,
  centralHeader,
  descriptor,
  localHeader,
  type Member,
  maxNameBytes,
} from "./records.ts";

/** Files up to this size are read as a whole: their sizes are known beforehand, and a stream would cost more. */
const maxWholeBytes = 64 * 1024;
/** Compressing a smaller file saves nothing. */
const minCompressibleBytes = 64;
/** From here on the sizes take 64 bits. What deflate may add to content that it cannot compress is far below the difference. */
const minLargeBytes = 0xf000_0000;
/** Smaller pieces are sent together. */
const pieceBytes = 64 * 1024;

/** ArchiveSource is what an archive is made of. */
export interface ArchiveSource {
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
    for await (const entry of unlessGone(this.#source.reader.walk(folder))) {
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
