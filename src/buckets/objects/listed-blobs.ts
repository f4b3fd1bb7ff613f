import type { BlobInfo } from "./blob-store.ts";

/** Four numbers of 32 bits are one key. */
const partsPerKey = 4;

/**
 * ListedBlobs is a part of a store's listing in compact form: 25 bytes for each blob. Blobs are added in the order of their keys; each
 * can be found by its key and crossed out.
 */
export class ListedBlobs {
  readonly #parts: Uint32Array;
  readonly #sizes: Float64Array;
  readonly #isCrossedOut: Uint8Array;
  #count = 0;
  #crossedOut = 0;

  constructor(maxBlobs: number) {
    this.#parts = new Uint32Array(maxBlobs * partsPerKey);
    this.#sizes = new Float64Array(maxBlobs);
    this.#isCrossedOut = new Uint8Array(maxBlobs);
  }

  get count(): number {
    return this.#count;
  }

  /** The number of blobs that were not crossed out. */
  get remainingCount(): number {
    return this.#count - this.#crossedOut;
  }

  get isFull(): boolean {
    return this.#count === this.#sizes.length;
  }

  /** Throws TypeError if the blob is not after the one before: a key that is in the wrong place would not be found. */
  add({ key, size }: Pick<BlobInfo, "key" | "size">): void {
    const parts = partsOf(key);
    if (this.#count > 0 && this.#compare(this.#count - 1, parts) >= 0)
      throw new TypeError(`the store lists the blob ${key} out of order`);
    this.#parts.set(parts, this.#count * partsPerKey);
    this.#sizes[this.#count] = size;
    this.#count += 1;
  }

  /** Crosses a blob out and returns its size in the store, in bytes; undefined if it is not in this part. */
  crossOut(key: string): number | undefined {
    const at = this.#find(key);
    if (at === undefined) return undefined;
    if (this.#isCrossedOut[at] === 0) this.#crossedOut += 1;
    this.#isCrossedOut[at] = 1;
    return this.#sizes[at];
  }

  /** The blobs that were not crossed out, in batches. */
  *remaining(batchBlobs: number): Generator<ReadonlyArray<Pick<BlobInfo, "key" | "size">>> {
    let batch: Array<Pick<BlobInfo, "key" | "size">> = [];
    for (let at = 0; at < this.#count; at += 1) {
      if (this.#isCrossedOut[at] === 1) continue;
      batch.push({ key: this.#keyAt(at), size: this.#sizes[at] ?? 0 });
      if (batch.length < batchBlobs) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  clear(): void {
    this.#isCrossedOut.fill(0, 0, this.#count);
    this.#count = 0;
    this.#crossedOut = 0;
  }

  #find(key: string): number | undefined {
    const parts = partsOf(key);
    let [from, to] = [0, this.#count];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const order = this.#compare(middle, parts);
      if (order === 0) return middle;
      if (order < 0) from = middle + 1;
      else to = middle;
    }
    return undefined;
  }

  #compare(at: number, parts: readonly number[]): number {
    for (let part = 0; part < partsPerKey; part += 1) {
      const difference = (this.#parts[at * partsPerKey + part] ?? 0) - (parts[part] ?? 0);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  #keyAt(at: number): string {
    let digits = "";
    for (let part = 0; part < partsPerKey; part += 1)
      digits += (this.#parts[at * partsPerKey + part] ?? 0).toString(16).padStart(8, "0");
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }
}

function partsOf(key: string): number[] {
  const digits = key.replaceAll("-", "");
  return [0, 8, 16, 24].map((at) => Number.parseInt(digits.slice(at, at + 8), 16));
}
