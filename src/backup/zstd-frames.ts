import { type FileHandle, open } from "node:fs/promises";
import { damaged } from "./tar-reader.ts";

const magic = 0xfd2fb528;
/** Sizes of the optional fields of a frame header, by the flags of its descriptor (RFC 8878, section 3.1.1.1). */
const dictionaryBytes = [0, 1, 2, 4];
const contentSizeBytes = [0, 2, 4, 8];
const rleBlock = 1;

/**
 * `assertWholeFrames` throws unless a file consists of whole zstd frames (RFC 8878). The decompressor alone reports neither a
 * missing end nor bytes after it. It reads a few bytes of each block.
 */
export async function assertWholeFrames(path: string): Promise<void> {
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
