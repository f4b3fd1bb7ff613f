import { closeSync, constants, fstatSync, openSync } from "node:fs";
import type { FileCalls, FileDescriptor } from "../../base/local-fs/file-calls.ts";
import { LocalContent, type RecentReads } from "../local-content.ts";
import type { ByteRange, ChunkOptions, HeldContent } from "../ports.ts";
import { BlobDamagedFault } from "./blob-faults.ts";
import type { StoredBlob } from "./blob-store.ts";
import type { BlobContent } from "./content-source.ts";
import { toFolderFault } from "./folder-faults.ts";
import { HashedContent } from "./hashed-content.ts";
import { verified } from "./verified-content.ts";

const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const neverAborted = new AbortController().signal;

export interface LocalBlobOptions {
  /** The file that has the content. */
  readonly path: string;
  readonly calls: FileCalls;
  readonly recentReads: RecentReads;
  /** Whether the file is all there is of the content, so that nobody else has compared it with its hash. */
  readonly verifies?: boolean;
}

/** LocalBlob is a blob that is a file of this machine, held open. Deleting the file does not end reading it. */
class LocalBlob extends LocalContent implements BlobContent {
  readonly #blob: StoredBlob;
  readonly #verifies: boolean;

  constructor(blob: StoredBlob, handle: FileDescriptor, { path, recentReads, verifies }: LocalBlobOptions) {
    const heldPath = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path;
    super({ handle, heldPath, size: blob.size, recentReads, toFault: toFolderFault });
    this.#blob = blob;
    this.#verifies = verifies ?? false;
  }

  get contentKey(): string {
    return this.#blob.key;
  }

  /** A range is not verified, nor what the kernel sends: only the whole has a hash, and it is sent before it would be known. */
  override async *chunks(range?: ByteRange, options?: ChunkOptions): AsyncGenerator<Uint8Array> {
    const { size } = this.#blob;
    const isWhole = range === undefined || (range.start === 0 && range.end === size - 1);
    // The last chunk is held back, so its memory cannot be used again for the next one.
    if (this.#verifies && isWhole) yield* verified(super.chunks(), this.#blob);
    else yield* super.chunks(range, options);
  }

  protected override async verify(bytes: Uint8Array): Promise<void> {
    if (!this.#verifies) return;
    const hashed = new HashedContent(bytes, neverAborted);
    await hashed.drain();
    if (hashed.sha256() !== this.#blob.sha256) throw new BlobDamagedFault(this.#blob.key);
  }
}

/** openLocalBlob opens the file of a blob. Throws the system's error, or BlobMissingFault if the file has another size. */
export async function openLocalBlob(blob: StoredBlob, options: LocalBlobOptions): Promise<BlobContent> {
  const handle = await options.calls.open(options.path, openFlags);
  try {
    if ((await handle.stat()).size !== blob.size) throw new BlobDamagedFault(blob.key);
    return new LocalBlob(blob, handle, options);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** holdLocalBlob is `ContentSource.hold` for a file. Only on Linux, where the path of a descriptor opens exactly the file that is open. */
export function holdLocalBlob({ size }: StoredBlob, path: string): HeldContent | undefined {
  if (process.platform !== "linux") return undefined;
  const descriptor = openOrUndefined(path);
  if (descriptor === undefined) return undefined;
  const close = () => closeSync(descriptor);
  if (fstatSync(descriptor).size === size)
    return { blob: Bun.file(`/proc/self/fd/${descriptor}`).slice(0, size), close };
  close();
  return undefined;
}

/** Any failure means that the content is not held: `open` reports it. */
function openOrUndefined(path: string): number | undefined {
  try {
    return openSync(path, openFlags);
  } catch {
    return undefined;
  }
}
