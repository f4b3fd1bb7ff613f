import { stat } from "node:fs/promises";
import { codeOf } from "../../base/fault.ts";
import { type BucketFiles, FileError } from "../../client/index.ts";
import { explainFileError } from "../file-error.ts";
import {
  concernsOneFile,
  hashBytes,
  hashFile,
  type LocalFile,
  type Look,
  sameLook,
  toLook,
} from "./local-tree.ts";
import type { Meter } from "./meter.ts";
import type { Patience } from "./upload-queue.ts";

/** Up to here a file is read whole, so that its hash is that of the bytes that were sent. */
const wholeBytes = 4_000_000;
/** How often a file is sent again that is changed while it is read. */
const looks = 3;

export interface Sent {
  readonly look: Look;
  readonly hash: string;
  readonly readAt: number;
}

/** How it went: sent; or in words why it was not, as far as that concerns this file alone. */
export type Sending = Sent | { readonly why: string; readonly harmless: boolean };

/** Sends one file and makes sure that what was sent is one state of it, not a mixture of two. */
export async function sendFile(
  files: BucketFiles,
  { path, disk }: LocalFile,
  meter: Meter,
  patience: Patience,
  signal: AbortSignal,
): Promise<Sending> {
  try {
    for (let attempt = 0; attempt < looks; attempt += 1) {
      const readAt = Date.now();
      const look = toLook(await stat(disk));
      const modified = new Date(look.mtime);
      const hash =
        look.size <= wholeBytes ? await sendWhole(look, modified) : await sendStream(look, modified);
      if (hash !== undefined) return { look, hash, readAt };
    }
    return { why: "it was changed whenever it was sent; push again when it rests", harmless: false };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { why: "it is gone meanwhile", harmless: true };
    const why = concernsOneFile(error) ? explainFileError(error) : whyRefused(error);
    if (why === undefined) throw error;
    return { why, harmless: false };
  }

  async function sendWhole(look: Look, modified: Date): Promise<string | undefined> {
    const bytes = await Bun.file(disk).bytes();
    if (!sameLook(look, toLook(await stat(disk)))) return undefined;
    await patience.attempt(signal, () => files.upload(path, bytes, { signal, modified }));
    meter.add(bytes.length);
    return hashBytes(bytes);
  }

  async function sendStream(look: Look, modified: Date): Promise<string | undefined> {
    const hash = await hashFile(disk);
    let counted = 0;
    const onProgress = (bytes: number) => {
      meter.add(bytes - counted);
      counted = bytes;
    };
    await patience.attempt(signal, () => {
      onProgress(0);
      return files.upload(path, Bun.file(disk), { signal, modified, onProgress });
    });
    if (sameLook(look, toLook(await stat(disk)))) return hash;
    onProgress(0);
    return undefined;
  }
}

/** What the server has against one file; undefined when it is against all of them. */
export function whyRefused(error: unknown): string | undefined {
  if (!(error instanceof FileError)) return undefined;
  if (error.status === 423) return "it is locked on the server";
  return [400, 405, 409, 412, 413, 414].includes(error.status) ? error.message : undefined;
}
