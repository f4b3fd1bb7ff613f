import { FairSemaphore } from "../base/concurrency.ts";
import { Fault } from "../base/fault.ts";
import type { OpenFile } from "./ports.ts";

/** `maxThumbnailPixels` is the greatest width and height of a thumbnail. */
export const maxThumbnailPixels = 512;
const maxFileBytes = 32 * 1024 * 1024;
/**
 * The pixels of an image by format: no other format is decoded. One image is decoded at a time, off the event loop. A decoder cannot
 * be stopped, so these bound its time and its memory: a JPEG is made smaller while it is decoded, the others need 4 bytes for each
 * pixel.
 */
const maxPixels: Readonly<Record<string, number>> = {
  jpeg: 40_000_000,
  png: 16_000_000,
  webp: 16_000_000,
  gif: 16_000_000,
};
/** Callers that wait for their turn. */
const maxWaiting = 64;
/** Thumbnails that are kept in memory. */
const maxKeptBytes = 8 * 1024 * 1024;

interface ThumbnailOptions {
  /** Its greatest width and height. */
  readonly size: number;
  /** Callers with the same key wait in one queue. */
  readonly key: string;
  readonly disconnected: AbortSignal;
}

/** Thumbnails makes small pictures of images, and keeps the newest in memory. */
export class Thumbnails {
  readonly #turns = new FairSemaphore(1);
  /** By content and size, the one that was used last at the end. */
  readonly #kept = new Map<string, Buffer>();
  #keptBytes = 0;

  /** Returns a WebP of an image. A fault with the reason `no_thumbnail` if it is none, is damaged or is too large. */
  async of(file: OpenFile, { size, key: caller, disconnected }: ThumbnailOptions): Promise<Buffer> {
    if (file.stats.size > maxFileBytes) throw noThumbnail("the file is too large");
    const key = `${size} ${file.contentKey}`;
    const known = this.#use(key);
    if (known !== undefined) return known;
    if (
      this.#turns.waiting() >= maxWaiting ||
      !(await this.#turns.acquire({ key: caller, signal: disconnected }))
    )
      throw new Fault("Busy", "too many pictures are asked for at once; try again later");
    try {
      return this.#use(key) ?? this.#keep(key, await shrink(await file.bytes(), size));
    } finally {
      this.#turns.release();
    }
  }

  #use(key: string): Buffer | undefined {
    const known = this.#kept.get(key);
    if (known === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, known);
    return known;
  }

  #keep(key: string, made: Buffer): Buffer {
    this.#kept.set(key, made);
    this.#keptBytes += made.length;
    for (const [oldest, { length }] of this.#kept) {
      if (this.#keptBytes <= maxKeptBytes) break;
      this.#kept.delete(oldest);
      this.#keptBytes -= length;
    }
    return made;
  }
}

/** Makes an image at most `size` pixels wide and high. Its header is read first, before memory is taken for its pixels. */
async function shrink(content: Uint8Array<ArrayBuffer>, size: number): Promise<Buffer> {
  try {
    const { width, height, format } = await new Bun.Image(content).metadata();
    const limit = maxPixels[format];
    if (limit === undefined) throw noThumbnail("its format is not JPEG, PNG, WebP or GIF");
    if (width * height > limit) throw noThumbnail(`it has more than ${limit / 1_000_000} million pixels`);
    return await new Bun.Image(content, { maxPixels: limit })
      .resize(size, size, { fit: "inside", withoutEnlargement: true, filter: "box" })
      .webp({ quality: 75 })
      .buffer();
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw noThumbnail("it is not a picture, or is damaged");
  }
}

function noThumbnail(why: string): Fault {
  return new Fault("InvalidInput", `the server makes no small picture of this file: ${why}`, {
    field: "path",
    reason: "no_thumbnail",
  });
}
