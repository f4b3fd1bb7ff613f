// Reads ZIP archives that strangers may have made (APPNOTE 6.3.10). Only the directory at the end of the archive is in memory; a file is
// read when it is needed, piece by piece.

/** SiteFile is a file of a site that is to be deployed. */
export interface SiteFile {
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** The content, piece by piece; it can be read any number of times. */
  pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** The content as a whole, for an upload. */
  blob(): Promise<Blob>;
}

/** ZipFault is why an archive, or a file in it, is refused. */
export type ZipFault =
  | "no_zip"
  | "zip64"
  | "encrypted"
  | "method"
  | "name"
  | "path"
  | "duplicate"
  | "too_many"
  | "too_large"
  | "file_too_large"
  | "ratio"
  | "damaged"
  | "unsupported";

/** ZipError is a refusal of an archive. */
export class ZipError extends Error {
  constructor(
    readonly fault: ZipFault,
    /** The file in the archive that it is about, or an empty text. */
    readonly path = "",
  ) {
    super(
      path === ""
        ? `the ZIP archive is refused: ${fault}`
        : `${path} in the ZIP archive is refused: ${fault}`,
    );
  }
}

const maxEntries = 20_000;
const maxDirectoryBytes = 16 * 1024 * 1024;
/** Of all files together. */
const maxBytes = 2 * 1024 ** 3;
/** Of one compressed file: it is in memory while it is uploaded. */
const maxInflatedBytes = 128 * 1024 * 1024;
/** Above `ratioFromBytes`, files may be larger than the archive by this factor. Deflate makes texts 3 to 20 times smaller. */
const maxRatio = 100;
const ratioFromBytes = 64 * 1024 * 1024;

/** zipLimits are the limits as people read them. */
export const zipLimits = { entries: maxEntries, bytes: maxBytes, fileBytes: maxInflatedBytes };

const endBytes = 22;
const maxCommentBytes = 0xffff;
const entryBytes = 46;
const headerBytes = 30;
const [endMark, entryMark, headerMark] = [0x0605_4b50, 0x0201_4b50, 0x0403_4b50];
const [stored, deflated] = [0, 8];
const isEncrypted = 1;
const [max16, max32] = [0xffff, 0xffff_ffff];

interface Entry {
  readonly path: string;
  readonly size: number;
  readonly compressed: number;
  readonly crc: number;
  readonly method: number;
  readonly flags: number;
  /** Where its header begins. */
  readonly at: number;
  /** Where its content can end at the earliest. */
  readonly end: number;
  readonly isFolder: boolean;
  readonly isLink: boolean;
}

/**
 * readZip returns the files of an archive. Folders have no content, and symbolic links are left out. Throws `ZipError` for an archive
 * that is damaged, larger than a site, or made to do harm. `isWanted` leaves files out whose content does not matter.
 */
export async function readZip(archive: Blob, isWanted: (path: string) => boolean): Promise<SiteFile[]> {
  if (typeof DecompressionStream === "undefined") throw new ZipError("unsupported");
  const { count, start, length } = await findDirectory(archive);
  const entries = parseDirectory(await viewOf(archive, start, start + length), count);
  assertApart(entries, start);
  const files = entries.filter(({ isFolder, isLink, path }) => !isFolder && !isLink && isWanted(path));
  for (const entry of files) assertReadable(entry);
  assertDistinct(files);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes) throw new ZipError("too_large");
  if (bytes > ratioFromBytes && bytes > archive.size * maxRatio) throw new ZipError("ratio");
  return files.map((entry) => toFile(archive, entry));
}

async function viewOf(archive: Blob, start: number, end: number): Promise<DataView> {
  return new DataView(await archive.slice(start, end).arrayBuffer());
}

async function findDirectory(archive: Blob) {
  const tailAt = Math.max(0, archive.size - endBytes - maxCommentBytes);
  const tail = await viewOf(archive, tailAt, archive.size);
  for (let at = tail.byteLength - endBytes; at >= 0; at -= 1) {
    if (tail.getUint32(at, true) !== endMark) continue;
    if (at + endBytes + tail.getUint16(at + 20, true) !== tail.byteLength) continue;
    const count = tail.getUint16(at + 10, true);
    const [length, start] = [tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)];
    if (count === max16 || length === max32 || start === max32) throw new ZipError("zip64");
    if (count > maxEntries || length > maxDirectoryBytes) throw new ZipError("too_many");
    if (start + length > tailAt + at) throw new ZipError("damaged");
    return { count, start, length };
  }
  throw new ZipError("no_zip");
}

function parseDirectory(view: DataView, count: number): Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  for (let left = count; left > 0; left -= 1) {
    if (at + entryBytes > view.byteLength || view.getUint32(at, true) !== entryMark)
      throw new ZipError("damaged");
    const nameBytes = view.getUint16(at + 28, true);
    const next = at + entryBytes + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > view.byteLength) throw new ZipError("damaged");
    const name = nameIn(new Uint8Array(view.buffer, at + entryBytes, nameBytes));
    const isFolder = name.endsWith("/");
    const path = isFolder ? name.slice(0, -1) : name;
    if (path === "" || isOutside(path)) throw new ZipError("path", name);
    const [compressed, start] = [view.getUint32(at + 20, true), view.getUint32(at + 42, true)];
    const isUnix = view.getUint16(at + 4, true) >> 8 === 3;
    entries.push({
      path,
      compressed,
      isFolder,
      size: view.getUint32(at + 24, true),
      crc: view.getUint32(at + 16, true),
      method: view.getUint16(at + 10, true),
      flags: view.getUint16(at + 8, true),
      at: start,
      end: start + headerBytes + nameBytes + compressed,
      isLink: isUnix && ((view.getUint32(at + 38, true) >>> 16) & 0xf000) === 0xa000,
    });
    at = next;
  }
  return entries;
}

/** Old programs of Windows write backslashes between folders. */
function nameIn(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).replaceAll("\\", "/");
  } catch {
    throw new ZipError("name", new TextDecoder("latin1").decode(bytes));
  }
}

/** Whether a path leads out of the folder that an archive is unpacked into, or is none. */
function isOutside(path: string): boolean {
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path) || path.includes("\0")) return true;
  return path.split("/").some((name) => name === "" || name === "." || name === "..");
}

/** Files that share their bytes in the archive make a small one as large as its author wants. */
function assertApart(entries: readonly Entry[], directoryAt: number): void {
  const sorted = [...entries].sort((a, b) => a.at - b.at);
  for (const [index, { end, path }] of sorted.entries())
    if (end > (sorted[index + 1]?.at ?? directoryAt)) throw new ZipError("damaged", path);
}

function assertReadable({ path, size, compressed, method, flags, at }: Entry): void {
  if (size === max32 || compressed === max32 || at === max32) throw new ZipError("zip64", path);
  if ((flags & isEncrypted) !== 0) throw new ZipError("encrypted", path);
  if (method !== stored && method !== deflated) throw new ZipError("method", path);
  if (method === stored && size !== compressed) throw new ZipError("damaged", path);
  if (method === deflated && size > maxInflatedBytes) throw new ZipError("file_too_large", path);
}

/** Two files at one path, and a file where another one needs a folder. Servers see the two Unicode forms of a name as one. */
function assertDistinct(files: readonly Entry[]): void {
  const paths = new Set<string>();
  for (const { path } of files) {
    const normal = path.normalize();
    if (paths.has(normal)) throw new ZipError("duplicate", path);
    paths.add(normal);
  }
  for (const path of paths)
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1))
      if (paths.has(path.slice(0, slash))) throw new ZipError("duplicate", path.slice(0, slash));
}

function toFile(archive: Blob, entry: Entry): SiteFile {
  const { path, size } = entry;
  return {
    path,
    size,
    pieces: () => piecesIn(archive, entry),
    async blob() {
      if (entry.method === stored) return contentOf(archive, entry);
      const parts: Uint8Array<ArrayBuffer>[] = [];
      for await (const piece of piecesIn(archive, entry)) parts.push(piece);
      return new Blob(parts);
    },
  };
}

/** The content as it is in the archive. */
async function contentOf(archive: Blob, { path, at, compressed }: Entry): Promise<Blob> {
  const header = await viewOf(archive, at, at + headerBytes);
  if (header.byteLength < headerBytes || header.getUint32(0, true) !== headerMark)
    throw new ZipError("damaged", path);
  const start = at + headerBytes + header.getUint16(26, true) + header.getUint16(28, true);
  return archive.slice(start, start + compressed);
}

/** The content of a file, never more than its directory says. Throws at the end if it is another one than was packed. */
async function* piecesIn(archive: Blob, entry: Entry): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { path, size, method, crc: expected } = entry;
  const packed = await contentOf(archive, entry);
  const stream =
    method === stored ? packed.stream() : packed.stream().pipeThrough(new DecompressionStream("deflate-raw"));
  let crc = max32;
  let read = 0;
  for await (const piece of piecesOf(stream, () => new ZipError("damaged", path))) {
    read += piece.length;
    if (read > size) throw new ZipError("damaged", path);
    for (const byte of piece) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 0xff] ?? 0);
    yield piece;
  }
  if (read !== size || (crc ^ max32) >>> 0 !== expected) throw new ZipError("damaged", path);
}

/** piecesOf reads a stream. Not every browser can iterate over one. A failure is replaced by what `toError` makes of it. */
export async function* piecesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  toError: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw toError(error);
      });
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ 0xedb8_8320;
  return crc;
});
