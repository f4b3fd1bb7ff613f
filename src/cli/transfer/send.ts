import { stat } from "node:fs/promises";
import { codeOf } from "../../base/fault.ts";
import type { Upload } from "./engine.ts";
import {
  type FileStamp,
  hashBytes,
  hashFile,
  type LocalFile,
  localRefusal,
  sameStamp,
  stampOf,
} from "./local-tree.ts";
import type { OmissionCause } from "./omitted-file.ts";

/** Up to this size a file is read whole, so that its hash is that of the bytes that were sent. */
const maxWholeBytes = 4_000_000;
/** The number of times that a file is sent which changes while it is read. */
const maxAttempts = 3;

export interface Sent {
  readonly stamp: FileStamp;
  readonly hash: string;
  /** When the reading of the file began. */
  readonly readAt: number;
}

/** SendResult is the file that was sent, or why it was not, as far as that concerns this file alone. */
type SendResult = Sent | (OmissionCause & { readonly harmless: boolean });

/** Sends one file and makes sure that what was sent is one state of it, not a mixture of two. */
export async function sendFile(
  { path, disk }: LocalFile,
  { files, meter, retry, writeOnly }: Upload,
  signal: AbortSignal,
): Promise<SendResult> {
  try {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const readAt = Date.now();
      const stamp = stampOf(await stat(disk));
      const modified = new Date(stamp.mtime);
      const hash = await (stamp.size <= maxWholeBytes ? sendWhole : sendStream)(stamp, modified);
      if (hash !== undefined) return { stamp, hash, readAt };
    }
    const why = "it kept changing while it was sent; push again later";
    return { reason: "changed", why, harmless: false };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { reason: "gone", why: "it no longer exists", harmless: true };
    const refusal = localRefusal(error);
    if (refusal === undefined) throw error;
    return { ...refusal, harmless: false };
  }

  /** Returns the hash; undefined when the file changed meanwhile. */
  async function sendWhole(stamp: FileStamp, modified: Date): Promise<string | undefined> {
    const bytes = await Bun.file(disk).bytes();
    if (!sameStamp(stamp, stampOf(await stat(disk)))) return undefined;
    await retry.attempt(signal, () => files.upload(path, bytes, { signal, modified, writeOnly }));
    meter.add(bytes.length);
    return hashBytes(bytes);
  }

  /** Returns the hash; undefined when the file changed meanwhile. */
  async function sendStream(stamp: FileStamp, modified: Date): Promise<string | undefined> {
    const hash = await hashFile(disk);
    let counted = 0;
    const onProgress = (bytes: number) => {
      meter.add(bytes - counted);
      counted = bytes;
    };
    await retry.attempt(signal, () => {
      onProgress(0);
      // A second run goes on with what the first one could not finish.
      const again = { sha256: hash, resume: true, retry: false } as const;
      return files.upload(path, Bun.file(disk), { signal, modified, onProgress, writeOnly, ...again });
    });
    if (sameStamp(stamp, stampOf(await stat(disk)))) return hash;
    onProgress(0);
    return undefined;
  }
}
