import { S3Client, type S3Options } from "bun";
import type { ByteRange } from "../ports.ts";
import { BlobMissingFault } from "./blob-faults.ts";
import { isBlobKey, newBlobKey } from "./blob-key.ts";
import type { BlobInfo, BlobPurpose, BlobStore, StoredBlob } from "./blob-store.ts";
import { Deadline } from "./deadline.ts";
import { HashedContent } from "./hashed-content.ts";
import { checkS3 } from "./s3-check.ts";
import { S3Read } from "./s3-read.ts";
import { attempt, repeated, type S3Location, s3Request, toS3Options } from "./s3-requests.ts";
import { type S3UploadOptions, uploadObject } from "./s3-upload.ts";

/** Objects that are deleted at the same time. */
const deletesAtOnce = 16;
/** The longest path that is written beside a blob; of a longer one the end. */
const maxDispositionChars = 900;
const never = new AbortController().signal;

export interface S3BlobsOptions extends S3Location {
  /** What all keys begin with, without a slash at its end; empty for none. */
  readonly prefix: string;
  /** The store must make progress within this time. */
  readonly requestTimeoutMs: number;
}

/**
 * S3Blobs keeps blobs as objects `<prefix>/<key>` of an S3-compatible store. What is left of uploads that were never finished is invisible
 * there, and deleted by a lifecycle rule of the bucket.
 */
export class S3Blobs implements BlobStore {
  readonly #options: S3BlobsOptions;
  readonly #s3: S3Options;
  readonly #client: S3Client;
  readonly #prefix: string;

  constructor(options: S3BlobsOptions) {
    this.#options = options;
    this.#s3 = toS3Options(options);
    this.#client = new S3Client(this.#s3);
    this.#prefix = options.prefix === "" ? "" : `${options.prefix}/`;
  }

  async put(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    { path, key: givenKey }: BlobPurpose,
    signal: AbortSignal,
  ): Promise<StoredBlob> {
    const key = givenKey ?? newBlobKey();
    const hashed = new HashedContent(content, signal);
    // The store may have what failed all the same, whole or in part. Nobody names a new key, so if this fails too, the sweep deletes it.
    const discard = () => {
      if (givenKey === undefined) this.delete([key]).catch(() => {});
    };
    try {
      await this.#upload(hashed, {
        objectKey: this.#prefix + key,
        path,
        signal,
        onLateSuccess: discard,
      });
    } catch (error) {
      discard();
      throw error;
    }
    return { key, size: hashed.size, sha256: hashed.sha256() };
  }

  async putManifest(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const objectKey = `${this.#prefix}manifests/${name}`;
    const onLateSuccess = () => {};
    await this.#upload(new HashedContent(content, signal), { objectKey, path: name, signal, onLateSuccess });
  }

  async getManifest(name: string, signal: AbortSignal): Promise<string | undefined> {
    const { requestTimeoutMs: timeoutMs } = this.#options;
    const objectKey = `${this.#prefix}manifests/${name}`;
    try {
      const found = await S3Read.open(this.#s3, {
        key: name,
        objectKey,
        range: undefined,
        timeoutMs,
        signal,
      });
      return await new Response(found).text();
    } catch (error) {
      if (error instanceof BlobMissingFault) return undefined;
      throw error;
    }
  }

  async get(
    key: string,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    if (!isBlobKey(key)) throw new BlobMissingFault(key);
    const { requestTimeoutMs: timeoutMs } = this.#options;
    return S3Read.open(this.#s3, { key, objectKey: this.#prefix + key, range, timeoutMs, signal });
  }

  async delete(keys: readonly string[]): Promise<void> {
    const remaining = keys.filter(isBlobKey);
    while (remaining.length > 0)
      await Promise.all(remaining.splice(0, deletesAtOnce).map((key) => this.#delete(key)));
  }

  async #delete(key: string): Promise<void> {
    using deadline = this.#deadline(never);
    await s3Request(this.#s3, this.#prefix + key, {
      method: "DELETE",
      action: "s3:DeleteObject",
      deadline,
    });
  }

  async *list(after = ""): AsyncGenerator<readonly BlobInfo[]> {
    for (let from: string | undefined = after; from !== undefined; ) {
      const page = await this.#page(from);
      yield page.blobs;
      from = page.next;
    }
  }

  /** One answer of the store, and from where the next one goes on. Manifests are after all blobs: a UUID has no letter above `f`. */
  async #page(after: string): Promise<{ readonly blobs: BlobInfo[]; readonly next: string | undefined }> {
    using deadline = this.#deadline(never);
    const { contents = [], isTruncated } = await repeated(deadline, () =>
      attempt("s3:ListBucket", deadline, () =>
        this.#client.list({ prefix: this.#prefix, delimiter: "/", startAfter: this.#prefix + after }),
      ),
    );
    const objects = contents.map(({ key, size = 0, lastModified = "" }) => ({
      key: key.slice(this.#prefix.length),
      size,
      // Without a time it counts as new, so that no sweep deletes it.
      storedAtMs: Date.parse(lastModified) || Date.now(),
    }));
    const last = objects.at(-1)?.key ?? "g";
    return {
      blobs: objects.filter(({ key }) => isBlobKey(key)),
      next: isTruncated && last < "g" ? last : undefined,
    };
  }

  /** The store does it by a lifecycle rule; Bun's client cannot list unfinished uploads. */
  async clearUnfinished(): Promise<number> {
    return 0;
  }

  async check(signal: AbortSignal): Promise<void> {
    await checkS3(this, this.#options, signal);
  }

  #deadline(signal: AbortSignal): Deadline {
    return new Deadline(this.#options.requestTimeoutMs, signal);
  }

  #upload(content: HashedContent, { path, ...object }: Upload): Promise<void> {
    return uploadObject(content, {
      ...object,
      client: this.#client,
      s3: this.#s3,
      contentDisposition: dispositionOf(path),
      type: "application/octet-stream",
      timeoutMs: this.#options.requestTimeoutMs,
    });
  }
}

interface Upload extends Pick<S3UploadOptions, "objectKey" | "signal" | "onLateSuccess"> {
  readonly path: string;
}

/** The path as RFC 8187 writes it: ASCII only, whatever the path contains. */
function dispositionOf(path: string): string {
  const encoded = encodeURIComponent(path.toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const end = encoded.slice(-maxDispositionChars);
  // Cut where a name begins: a name has 255 bytes at most, which are 765 characters here.
  return `attachment; filename*=UTF-8''${encoded === end ? end : end.replace(/^.*?%2F/, "")}`;
}
