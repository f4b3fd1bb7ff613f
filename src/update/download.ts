import { createHash } from "node:crypto";
import { type FileHandle, open, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";

const smallest = 1024;
const largest = 1024 * 1024 * 1024;
/** A server that sends nothing for so long is gone. */
const stallMs = 60_000;
/** Left free on the disk. */
const spareBytes = 16 * 1024 * 1024;
/** How much a compressed release grows at the most, for the look at the free space. */
const growth = 4;

export interface Progress {
  readonly bytes: number;
  /** Undefined where the server does not say. */
  readonly total: number | undefined;
}

export interface Downloaded {
  readonly bytes: number;
  readonly sha256: Buffer;
  /** What minisign signs. */
  readonly blake2b: Buffer;
}

/** A release into a new file, synced; checked against what the server says of its length and digest. */
export async function download(
  address: string,
  path: string,
  mode: number,
  progress: (progress: Progress) => void,
): Promise<Downloaded> {
  const stall = new AbortController();
  let timer = setTimeout(() => stall.abort(), stallMs);
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stall.abort(), stallMs);
  };
  try {
    const response = await ask(address, stall.signal);
    const total = lengthOf(response);
    const isPacked = response.headers.get("content-encoding") === "zstd";
    await requireSpace(path, (total ?? smallest) * (isPacked ? growth : 1));
    const file = await open(path, "wx", mode);
    try {
      // Whatever the umask took away: the new binary has the mode of the old one.
      await file.chmod(mode);
      const sent = createHash("sha256");
      const wire = wireBytes(response, total, (chunk, bytes) => {
        alive();
        sent.update(chunk);
        progress({ bytes, total });
      });
      const done = await store(file, isPacked ? unpacked(wire) : wire);
      await file.sync();
      checkDigests(response.headers, sent.digest(), done.sha256);
      return done;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (stall.signal.aborted) throw failed(`nothing came for ${stallMs / 1000} s`);
    throw failed(codeOf(error) === "ENOSPC" ? "the disk is full" : messageOf(error));
  } finally {
    clearTimeout(timer);
    // Also ends the connection of an answer that was not read to its end.
    stall.abort();
  }
}

/** A small text beside the binary: a signature, or the name of the newest version. */
export async function downloadText(address: string, what: string): Promise<string> {
  const signal = AbortSignal.timeout(stallMs);
  try {
    const response = await fetch(address, { signal });
    if (!response.ok) throw failed(`${what}: the release server answers ${response.status}`);
    return await smallText(response);
  } catch (error) {
    throw error instanceof Fault ? error : failed(`${what}: ${messageOf(error)}`);
  }
}

async function smallText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > 64 * 1024) throw failed("too much came");
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString();
}

async function ask(address: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(address, {
    signal,
    headers: { "accept-encoding": "zstd, identity" },
    // Unpacked below, so that the length on the wire can be held against what was announced.
    decompress: false,
  });
  if (response.status === 404) throw failed("the release server has no such release for this system (404)");
  if (!response.ok) throw failed(`the release server answers ${response.status}`);
  const encoding = response.headers.get("content-encoding") ?? "identity";
  if (encoding !== "zstd" && encoding !== "identity")
    throw failed(`the release server sends an encoding that was not asked for (${encoding.slice(0, 32)})`);
  return response;
}

function lengthOf(response: Response): number | undefined {
  const header = response.headers.get("content-length");
  const length = header === null ? undefined : Number(header);
  if (length !== undefined && (length < smallest || length > largest))
    throw failed(`it has ${length} bytes, which is no release`);
  return length;
}

async function requireSpace(path: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path));
  if (bavail * bsize < bytes + spareBytes)
    throw failed(`the disk has ${Math.floor((bavail * bsize) / 1e6)} MB left, and the update needs more`);
}

async function* wireBytes(
  response: Response,
  total: number | undefined,
  told: (chunk: Uint8Array, bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > (total ?? largest)) throw failed("more came than was announced");
    told(chunk, bytes);
    yield chunk;
  }
  if (total !== undefined && bytes !== total) throw failed(`${bytes} of ${total} bytes came`);
}

/** Unlike the stream of zlib, this one refuses a frame that lacks its end. */
function unpacked(wire: AsyncGenerator<Uint8Array<ArrayBuffer>>): AsyncIterable<Uint8Array> {
  const source = new ReadableStream<ArrayBuffer | ArrayBufferView<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await wire.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await wire.return(undefined);
    },
  });
  return source.pipeThrough(new DecompressionStream("zstd"));
}

async function store(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<Downloaded> {
  const [sha256, blake2b] = [createHash("sha256"), createHash("blake2b512")];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > largest) throw failed("it is too large for a release");
    sha256.update(chunk);
    blake2b.update(chunk);
    await file.writeFile(chunk);
  }
  if (bytes < smallest) throw failed(`it has ${bytes} bytes, which is no release`);
  return { bytes, sha256: sha256.digest(), blake2b: blake2b.digest() };
}

/** RFC 9530 and its predecessor speak of what was sent, its encoding included; the third header of the file itself. */
function checkDigests(headers: Headers, sent: Buffer, plain: Buffer): void {
  const repr = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):/i.exec(headers.get("repr-digest") ?? "")?.[1];
  const old = /(?:^|[,\s])sha-256=([A-Za-z0-9+/=]+)/i.exec(headers.get("digest") ?? "")?.[1];
  const hex = headers.get("x-checksum-sha256")?.trim().toLowerCase();
  const isRight =
    [repr, old].every((text) => text === undefined || Buffer.from(text, "base64").equals(sent)) &&
    (hex === undefined || hex === plain.toString("hex"));
  if (!isRight) throw failed("its digest is not the one that the release server tells");
}

function failed(why: string): Fault {
  return new Fault("IoError", `the release was not downloaded: ${why}; nothing was changed`);
}
