import type { Fault } from "../../../base/fault.ts";
import {
  BlobDamagedFault,
  BlobMissingFault,
  BlobStoreFault,
  type StoredBlob,
  storeUnavailable,
} from "../../../blobs/blob-store.ts";
import { retryDamaged, verified } from "../../../blobs/content.ts";
import type {
  AssembledFile,
  History,
  JoinedPieces,
  PartialContents,
  PieceOfUpload,
  SinglePiece,
  StoredPiece,
  WholeUpload,
} from "../../ports.ts";
import { hashOfNothing } from "../../trees/rows/locate.ts";
import type { RowTreeDeps } from "../../trees/rows/row-tree.ts";
import { StagedBlob } from "../../trees/rows/staged-blob.ts";
import { noUpload } from "../faults.ts";

/** A client that leaves ends its piece, which is stored as far as it came. */
const neverAborted = new AbortController().signal;

/** rowHistory returns the history of a storage whose names are rows. An exchange of trees is one transaction, so nothing can fail it. */
export function rowHistory(deps: RowTreeDeps): History {
  const { removed } = deps.database;
  return {
    parts: new PartBlobs(deps),
    async assertExchangeable() {},
    async settleExchange() {},
    /** Everything in the tree is removed and expires. The daily maintenance deletes the expired rows and the head. */
    async discard(path) {
      await removed.removeAll(path);
      await removed.expireAll(path);
    },
  };
}

type PartBlobsOptions = Pick<
  RowTreeDeps,
  "blobs" | "assertReachable" | "onBlobStoreFault" | "stopping" | "log"
>;

/**
 * PartBlobs keeps each piece of an upload as a blob of its own, named by a row, so that any node can go on with the upload. At the end
 * they are copied into one blob.
 */
class PartBlobs implements PartialContents {
  readonly #options: PartBlobsOptions;

  constructor(options: PartBlobsOptions) {
    this.#options = options;
  }

  async append(
    { offset, bucketPath, path }: PieceOfUpload,
    content: AsyncIterable<Uint8Array>,
  ): Promise<StoredPiece> {
    const purpose = `${bucketPath}/${path} (from ${offset})`;
    const { size, key, sha256 } = await this.#put(content, purpose, neverAborted);
    if (size > 0) return { size, blob: { key, sha256 } };
    await this.#options.blobs.delete([key]);
    return { size: 0 };
  }

  async *read({ blob, size }: SinglePiece): AsyncGenerator<Uint8Array> {
    const { blobs, stopping, onBlobStoreFault } = this.#options;
    if (blob === undefined || size === 0) return;
    try {
      const stream = await blobs.get(blob.key, { start: 0, end: size - 1 }, stopping);
      yield* verified(stream, blob);
    } catch (error) {
      if (error instanceof BlobStoreFault) onBlobStoreFault(error);
      if (error instanceof BlobMissingFault) throw noUpload();
      throw error instanceof BlobDamagedFault ? partsDamaged(error) : error;
    }
  }

  async join(
    { bucketPath, path }: Omit<PieceOfUpload, "offset">,
    { pieces, record, onProgress }: JoinedPieces,
  ): Promise<StagedBlob> {
    const { blobs, log, stopping } = this.#options;
    const read = (piece: SinglePiece) => this.read(piece);
    async function* content() {
      for (const piece of pieces)
        for await (const chunk of read(piece)) {
          onProgress();
          yield chunk;
        }
    }
    const isEmpty = pieces.every(({ size }) => size === 0);
    const blob = isEmpty ? undefined : await this.#put(content(), `${bucketPath}/${path}`, stopping);
    return new StagedBlob({ blob, blobs, log, record: record() });
  }

  async assemble({ bucketPath, path, length, parts, onProgress }: WholeUpload): Promise<AssembledFile> {
    const { blobs, log, stopping } = this.#options;
    if (length === 0)
      return { staged: new StagedBlob({ blob: undefined, blobs, log }), sha256: hashOfNothing };
    const blob = await retryDamaged(() =>
      this.#put(this.#joined(parts, length, onProgress), `${bucketPath}/${path}`, stopping),
    ).catch((error) => {
      throw error instanceof BlobDamagedFault ? partsDamaged(error) : error;
    });
    const staged = new StagedBlob({ blob, blobs, log });
    if (blob.size === length) return { staged, sha256: blob.sha256 };
    await staged[Symbol.asyncDispose]();
    throw noUpload();
  }

  async discard(_id: string, blobs: readonly string[]): Promise<void> {
    await this.drop(blobs);
  }

  async drop(blobs: readonly string[]): Promise<void> {
    if (blobs.length > 0) await this.#options.blobs.delete(blobs);
  }

  /** The daily sweep deletes blobs that no row names. */
  async clear(): Promise<number> {
    return 0;
  }

  async #put(content: AsyncIterable<Uint8Array>, path: string, signal: AbortSignal): Promise<StoredBlob> {
    const { blobs, assertReachable, onBlobStoreFault } = this.#options;
    assertReachable();
    try {
      return await blobs.put(content, { path }, signal);
    } catch (error) {
      if (error instanceof BlobStoreFault) onBlobStoreFault(error);
      if (error instanceof BlobDamagedFault) throw error;
      throw error instanceof BlobMissingFault ? noUpload() : error;
    }
  }

  /**
   * A part ends where the next one begins: what a client sent again may overlap. Each is read whole and compared with the hash of what
   * arrived from the client: damaged content would get a hash of its own, which nothing could tell from a right one.
   */
  async *#joined(
    parts: WholeUpload["parts"],
    length: number,
    onProgress: () => void,
  ): AsyncGenerator<Uint8Array> {
    const { blobs, stopping } = this.#options;
    for (const [index, { offset, blob, size, hash }] of parts.entries()) {
      const end = Math.min(offset + size, parts[index + 1]?.offset ?? length);
      if (end <= offset) continue;
      const stream = await blobs.get(blob, { start: 0, end: size - 1 }, stopping);
      let wanted = end - offset;
      for await (const chunk of verified(stream, { key: blob, sha256: hash })) {
        onProgress();
        if (wanted > 0) yield chunk.subarray(0, wanted);
        wanted -= chunk.length;
      }
    }
  }
}

/** The parts stay: the store may answer with the right bytes the next time. */
function partsDamaged(cause: Fault): Fault {
  return storeUnavailable("the object store returned different content than was uploaded", cause);
}
