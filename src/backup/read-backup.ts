import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { createZstdDecompress } from "node:zlib";
import { codeOf, type Fault } from "../base/fault.ts";
import {
  type BackupHeader,
  type BackupManifest,
  checkHeader,
  checkMember,
  configName,
  headerName,
  manifestName,
  parseHeader,
  parseManifest,
} from "./manifest.ts";
import { damaged, readTar, type TarMember } from "./tar.ts";

/** The largest members that are read into memory as a whole. The manifest has a line for each file of the buckets. */
const maxBytes = { header: 16 * 1024 * 1024, manifest: 1024 * 1024 * 1024 };

/** VerifiedBackup is a backup of which every byte was compared with its manifest. */
export interface VerifiedBackup {
  readonly path: string;
  readonly header: BackupHeader;
  readonly manifest: BackupManifest;
  readonly config: string;
}

export interface ReadOptions {
  /** Called with the number of compressed bytes that were read since the last call. Must not throw. */
  onBytes?(bytes: number): void;
  /** Ends the reading, which then throws the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** `verifyBackup` reads a whole backup and throws if anything is damaged, missing, added or not allowed. It writes nothing. */
export async function verifyBackup(path: string, options: ReadOptions = {}): Promise<VerifiedBackup> {
  await assertWholeFrames(path);
  const members = readTar(decompressed(path, options));
  const first = await members.next();
  if (first.done || first.value.name !== headerName)
    throw damaged(`it does not begin with ${headerName}, so it is not a backup of node-server`);
  const seen: BackupManifest["members"] = [];
  const headerBytes = await wholeOf(first.value, maxBytes.header);
  seen.push({ name: headerName, size: headerBytes.length, sha256: sha256(headerBytes) });
  const header = parseHeader(headerBytes);
  checkHeader(header);
  let config: string | undefined;
  let manifest: BackupManifest | undefined;
  for await (const member of members) {
    if (manifest !== undefined) throw damaged(`${member.name} follows the manifest`);
    if (member.name === manifestName) {
      manifest = parseManifest(await wholeOf(member, maxBytes.manifest));
      continue;
    }
    checkMember(member, header);
    const bytes = member.name === configName ? await wholeOf(member, maxBytes.header) : undefined;
    if (bytes !== undefined) config = bytes.toString("utf8");
    const hash = bytes === undefined ? await hashOf(member) : sha256(bytes);
    seen.push({ name: member.name, size: member.size, sha256: hash });
  }
  if (manifest === undefined || config === undefined) throw damaged("it is incomplete");
  compare(seen, manifest.members);
  return { path, header, manifest, config };
}

function compare(seen: BackupManifest["members"], listed: BackupManifest["members"]): void {
  const names = new Set<string>();
  for (const [at, member] of seen.entries()) {
    const expected = listed[at];
    if (names.has(member.name)) throw damaged(`it contains ${member.name} twice`);
    names.add(member.name);
    if (expected?.name !== member.name) throw damaged(`${member.name} is not in its manifest`);
    if (expected.size !== member.size || expected.sha256 !== member.sha256)
      throw damaged(`${member.name} differs from its checksum`);
  }
  const missing = listed[seen.length];
  if (missing !== undefined) throw damaged(`${missing.name} is missing`);
}

/**
 * `membersOf` reads a verified backup again. Each member is compared with the manifest while it is read, in case the file changed
 * in between.
 */
export async function* membersOf(
  { path, manifest, header }: VerifiedBackup,
  options: ReadOptions = {},
): AsyncGenerator<TarMember> {
  let at = 0;
  for await (const member of readTar(decompressed(path, options))) {
    if (member.name === manifestName) return;
    const expected = manifest.members[at];
    at += 1;
    if (expected?.name !== member.name || expected.size !== member.size) throw changed();
    if (member.name !== headerName) checkMember(member, header);
    yield { ...member, content: () => compared(member, expected.sha256) };
  }
}

async function* compared(member: TarMember, expected: string): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for await (const bytes of member.content()) {
    hash.update(bytes);
    yield bytes;
  }
  if (hash.digest("hex") !== expected) throw changed();
}

function changed(): Fault {
  return damaged("it was changed while it was read");
}

async function* decompressed(path: string, { onBytes, signal }: ReadOptions): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  const file = createReadStream(path, { highWaterMark: 256 * 1024 });
  const zstd = createZstdDecompress();
  const stop = () => zstd.destroy(signal?.reason);
  signal?.addEventListener("abort", stop);
  file.on("error", (error) => zstd.destroy(error));
  file.on("data", (bytes) => onBytes?.(bytes.length));
  file.pipe(zstd);
  try {
    yield* zstd as AsyncIterable<Uint8Array>;
  } catch (error) {
    // The file's own errors have a path.
    if (error instanceof Error && "path" in error) throw error;
    if (codeOf(error)?.startsWith("Z")) throw damaged("it cannot be decompressed");
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    file.destroy();
    zstd.destroy();
  }
}

async function wholeOf(member: TarMember, max: number): Promise<Buffer> {
  if (member.size > max) throw damaged(`${member.name} is too long`);
  const parts: Uint8Array[] = [];
  // A part may be reused by the stream.
  for await (const bytes of member.content()) parts.push(Buffer.from(bytes));
  return Buffer.concat(parts);
}

async function hashOf(member: TarMember): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of member.content()) hash.update(bytes);
  return hash.digest("hex");
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const magic = 0xfd2fb528;
/** Sizes of the optional fields of a frame header, by the flags of its descriptor (RFC 8878, section 3.1.1.1). */
const dictionaryBytes = [0, 1, 2, 4];
const contentSizeBytes = [0, 2, 4, 8];
const rleBlock = 1;

/**
 * `assertWholeFrames` throws unless a file consists of whole zstd frames (RFC 8878). The decompressor alone reports neither a
 * missing end nor bytes after it. It reads a few bytes of each block.
 */
async function assertWholeFrames(path: string): Promise<void> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  let at = 0;
  do at = await endOfFrame(file, at);
  while (at < size);
  if (at > size) throw damaged("its end is missing");
}

async function endOfFrame(file: FileHandle, start: number): Promise<number> {
  const header = await bytesAt(file, start, 5);
  if (header.readUInt32LE(0) !== magic)
    throw damaged(start === 0 ? "it is not compressed with zstd" : "something follows its end");
  const descriptor = header.readUInt8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const contentSize = sizeFlag === 0 && isSingleSegment ? 1 : (contentSizeBytes[sizeFlag] ?? 0);
  let at = start + 5 + (isSingleSegment ? 0 : 1) + (dictionaryBytes[descriptor & 3] ?? 0) + contentSize;
  for (let isLast = false; !isLast; ) {
    const block = (await bytesAt(file, at, 3)).readUIntLE(0, 3);
    isLast = (block & 1) !== 0;
    at += 3 + (((block >> 1) & 3) === rleBlock ? 1 : block >> 3);
  }
  return at + ((descriptor & 4) === 0 ? 0 : 4);
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  if (bytesRead < length) throw damaged("its end is missing");
  return bytes;
}
