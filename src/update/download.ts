import { createHash } from "node:crypto";
import { type FileHandle, open, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { wholeNumber } from "../base/numbers.ts";

const smallest = 1024;
const maxDownloadBytes = 1024 * 1024 * 1024;
/** The time that a small text may take. */
const textTimeoutMs = 60_000;
/** Bytes that must stay free on the disk. */
const spareBytes = 16 * 1024 * 1024;
/** The assumed largest ratio of a compressed release, for the check of the free space. */
const growth = 4;

export interface Progress {
  readonly bytes: number;
  /** Undefined if the release server does not announce the length. */
  readonly total: number | undefined;
}

export interface DownloadResult {
  readonly bytes: number;
  readonly sha256: Buffer;
  /** The BLAKE2b digest, which minisign signs. */
  readonly blake2b: Buffer;
}

/** DownloadLimits end a download that is too slow, however the release server sends. */
interface DownloadLimits {
  /** The interval in which the throughput is measured. */
  readonly windowMs: number;
  /** The least throughput of each window, in bytes per second. */
  readonly minBytesPerSecond: number;
  /** The longest time of the whole download. */
  readonly totalMs: number;
}

/** A release of 58 MB may come at 64 kbit/s; a server that sends single bytes is given up after a minute. */
const standardLimits: DownloadLimits = {
  windowMs: 60_000,
  minBytesPerSecond: 8 * 1024,
  totalMs: 2 * 3600 * 1000,
};

export interface DownloadOptions {
  /** The path of the new file, which must not exist yet. After a failure it may exist in part. */
  readonly path: string;
  readonly mode: number;
  progress(progress: Progress): void;
  /** Ends the download early. */
  readonly signal?: AbortSignal;
  readonly limits?: DownloadLimits;
}

/**
 * `download` writes a release into a new file and syncs it. It checks the length and the digests that the release server announces.
 * Throws IoError.
 */
export async function download(
  address: string,
  { path, mode, progress, signal, limits = standardLimits }: DownloadOptions,
): Promise<DownloadResult> {
  const pace = watchPace(limits);
  const stop = AbortSignal.any([pace.signal, ...(signal === undefined ? [] : [signal])]);
  try {
    const response = await ask(address, stop);
    const total = lengthOf(response);
    const isPacked = response.headers.get("content-encoding") === "zstd";
    await requireSpace(path, (total ?? smallest) * (isPacked ? growth : 1));
    const file = await open(path, "wx", mode);
    try {
      // The new binary gets the mode of the old one, regardless of the umask.
      await file.chmod(mode);
      const sent = createHash("sha256");
      const wire = wireBytes(response, total, (chunk, bytes) => {
        pace.came(chunk.length);
        sent.update(chunk);
        progress({ bytes, total });
      });
      const done = await writeAndHash(file, isPacked ? unpacked(wire) : wire);
      await file.sync();
      checkDigests(response.headers, sent.digest(), done.sha256);
      return done;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (stop.aborted) throw failed(messageOf(stop.reason));
    throw failed(codeOf(error) === "ENOSPC" ? "the disk is full" : messageOf(error));
  } finally {
    // Also ends the connection of a response that was not read to its end.
    pace.end();
  }
}

/** `watchPace` measures a download; its signal fires, with the reason, when one of the limits is exceeded. */
function watchPace({ windowMs, minBytesPerSecond, totalMs }: DownloadLimits) {
  const over = new AbortController();
  let bytes = 0;
  const windows = setInterval(() => {
    if (bytes < (minBytesPerSecond * windowMs) / 1000)
      over.abort(new Error(`only ${bytes} bytes came within ${windowMs / 1000} s`));
    bytes = 0;
  }, windowMs);
  const whole = setTimeout(
    () => over.abort(new Error(`it was not complete after ${totalMs / 60_000} minutes`)),
    totalMs,
  );
  return {
    signal: over.signal,
    came(length: number): void {
      bytes += length;
    },
    end(): void {
      clearInterval(windows);
      clearTimeout(whole);
      over.abort();
    },
  };
}

/** `downloadText` downloads a small text beside the binary: a signature, or the name of the newest version. */
export async function downloadText(address: string, what: string, signal?: AbortSignal): Promise<string> {
  const stop = AbortSignal.any([
    AbortSignal.timeout(textTimeoutMs),
    ...(signal === undefined ? [] : [signal]),
  ]);
  try {
    const response = await fetch(address, { signal: stop });
    if (!response.ok) throw failed(`${what}: the release server answers ${response.status}`);
    return await smallText(response);
  } catch (error) {
    throw error instanceof Fault ? error : failed(`${what}: ${messageOf(error)}`);
  }
}

/** `requireRelease` throws if the release server does not have a file. It does not download the file. */
export async function requireRelease(address: string, signal: AbortSignal): Promise<void> {
  const enough = new AbortController();
  try {
    await ask(address, AbortSignal.any([AbortSignal.timeout(textTimeoutMs), signal, enough.signal]));
  } catch (error) {
    throw error instanceof Fault ? error : failed(messageOf(error));
  } finally {
    enough.abort();
  }
}

async function smallText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > 64 * 1024) throw failed("too many bytes came");
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString();
}

async function ask(address: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(address, {
    signal,
    headers: { "accept-encoding": "zstd, identity" },
    // Decompressed below, so that the length on the wire can be compared with the announced one.
    decompress: false,
  });
  if (response.status === 404)
    throw failed("the release server has no such release for this system (404)", {
      reason: "release_not_found",
    });
  if (!response.ok) throw failed(`the release server answers ${response.status}`);
  const encoding = response.headers.get("content-encoding") ?? "identity";
  if (encoding !== "zstd" && encoding !== "identity")
    throw failed(`the release server sends an encoding that was not asked for (${encoding.slice(0, 32)})`);
  return response;
}

function lengthOf(response: Response): number | undefined {
  const length = wholeNumber(response.headers.get("content-length"));
  if (length !== undefined && (length < smallest || length > maxDownloadBytes))
    throw failed(`it has ${length} bytes, which cannot be a release`);
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
  onChunk: (chunk: Uint8Array, bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > (total ?? maxDownloadBytes)) throw failed("more bytes came than announced");
    onChunk(chunk, bytes);
    yield chunk;
  }
  if (total !== undefined && bytes !== total) throw failed(`${bytes} of ${total} bytes came`);
}

/** `unpacked` decompresses. Unlike zlib's stream, it rejects a frame without its end. */
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

async function writeAndHash(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<DownloadResult> {
  const [sha256, blake2b] = [createHash("sha256"), createHash("blake2b512")];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > maxDownloadBytes) throw failed("it is too large for a release");
    sha256.update(chunk);
    blake2b.update(chunk);
    await file.writeFile(chunk);
  }
  if (bytes < smallest) throw failed(`it has ${bytes} bytes, which cannot be a release`);
  return { bytes, sha256: sha256.digest(), blake2b: blake2b.digest() };
}

/**
 * `checkDigests` verifies the announced digests: RFC 9530 and its predecessor are about the content as sent, encoding included; the
 * third header is about the file itself.
 */
function checkDigests(headers: Headers, sent: Buffer, plain: Buffer): void {
  const repr = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):/i.exec(headers.get("repr-digest") ?? "")?.[1];
  const old = /(?:^|[,\s])sha-256=([A-Za-z0-9+/=]+)/i.exec(headers.get("digest") ?? "")?.[1];
  const hex = headers.get("x-checksum-sha256")?.trim().toLowerCase();
  const isRight =
    [repr, old].every((text) => text === undefined || Buffer.from(text, "base64").equals(sent)) &&
    (hex === undefined || hex === plain.toString("hex"));
  if (!isRight) throw failed("its digest differs from that of the release server");
}

/** The end of many errors of `fetch` in Bun: advice for programmers. */
const adviceOfBun = /\.? For more information, pass `verbose: true`.*$/;

function failed(why: string, data: Readonly<Record<string, unknown>> = {}): Fault {
  const reason = why.replace(adviceOfBun, "");
  return new Fault("IoError", `the release was not downloaded: ${reason}; nothing was changed`, data);
}
