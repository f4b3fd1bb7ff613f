import { constants } from "node:fs";
import { open, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../base/fault.ts";
import {
  asyncFileCalls,
  type FileCalls,
  type FileDescriptor,
  fileCallsFor,
} from "../../base/local-fs/file-calls.ts";
import { SharedSync } from "../../base/local-fs/sync.ts";
import { randomText } from "../../base/random.ts";
import { writeAll } from "../disk/copy-file.ts";
import { diskUsageOf } from "../disk-usage.ts";
import type { ByteRange, DiskUsage } from "../ports.ts";
import { BlobDamagedFault } from "./blob-faults.ts";
import { newBlobKey } from "./blob-key.ts";
import type { BlobInfo, BlobPurpose, BlobStore, StoredBlob } from "./blob-store.ts";
import type { ContentSource } from "./content-source.ts";
import { checkFolder } from "./folder-check.ts";
import { FolderContent, toReadFault } from "./folder-content.ts";
import { toFolderFault } from "./folder-faults.ts";
import { listFolder } from "./folder-list.ts";
import { FolderPaths, shardOf } from "./folder-paths.ts";
import { clearUnfinishedIn } from "./folder-unfinished.ts";
import { HashedContent } from "./hashed-content.ts";

/** An unfinished upload that was last written to so long ago is left over from a crash: no node writes to it any more. */
const unfinishedMs = 24 * 3600 * 1000;
/** Blobs may be those of private buckets. */
const fileMode = 0o640;
const chunkBytes = 192 * 1024;
/** Files that are deleted at the same time. */
const deletesAtOnce = 16;

export interface FolderBlobsOptions {
  /** Whether content is on the disk, and not only in its cache, before `put` resolves. */
  readonly sync: boolean;
  /** Whether the folder is known to hold content; then a check creates nothing in it if it is empty. */
  readonly holdsContent?: boolean;
}

/**
 * FolderBlobs keeps blobs as files of a folder, which several nodes may share by a network file system. A file grows in `unfinished/`
 * and is renamed when it is whole, so the name of a blob proves that it is complete.
 */
export class FolderBlobs implements BlobStore {
  /** Opens the blobs to send them. */
  readonly content: ContentSource;
  readonly #paths: FolderPaths;
  readonly #sync: boolean;
  /** For calls that change names: beside syncs they may have to wait until the file system has written its journal. */
  readonly #changes: FileCalls;
  readonly #folderSyncs = new SharedSync();
  /** Whether the folder was a store before, by an earlier check or by what the caller knows. */
  #wasSeen: boolean;
  /** The shards whose folders are known to exist. */
  readonly #shards = new Set<string>();

  /** `folder` is absolute. It must exist: one that is missing may be one that is not mounted. */
  constructor(folder: string, { sync, holdsContent = false }: FolderBlobsOptions) {
    this.#paths = new FolderPaths(folder);
    this.content = new FolderContent(this.#paths);
    this.#sync = sync;
    this.#wasSeen = holdsContent;
    this.#changes = sync ? asyncFileCalls : fileCallsFor(folder);
  }

  /** The folder has no place for the purpose: the nightly manifest says it. */
  async put(
    content: Uint8Array | AsyncIterable<Uint8Array>,
    { key: givenKey }: BlobPurpose,
    signal: AbortSignal,
  ): Promise<StoredBlob> {
    const key = givenKey ?? newBlobKey();
    const path = this.#paths.ofBlob(key);
    const hashed = new HashedContent(content, signal);
    try {
      await this.#ensureShard(shardOf(key));
      if (content instanceof Uint8Array) await hashed.drain();
      await this.#write(content instanceof Uint8Array ? content : hashed, path);
      return { key, size: hashed.size, sha256: hashed.sha256() };
    } catch (error) {
      // Under a given key may be what was there before.
      if (givenKey === undefined) await rm(path, { force: true }).catch(() => {});
      throw toPutFault(error, hashed);
    }
  }

  async putManifest(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const hashed = new HashedContent(content, signal);
    try {
      await this.#write(hashed, this.#paths.ofManifest(name));
    } catch (error) {
      throw toPutFault(error, hashed);
    }
  }

  async getManifest(name: string): Promise<string | undefined> {
    try {
      return await readFile(this.#paths.ofManifest(name), "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw toFolderFault(error);
    }
  }

  async get(
    key: string,
    range: ByteRange | undefined,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    signal.throwIfAborted();
    const file = await this.#open(key);
    try {
      const { size } = await file.stat();
      const { start, end } = range ?? { start: 0, end: size - 1 };
      return streamOf(file, { key, start, end, signal });
    } catch (error) {
      await file.close();
      throw toFolderFault(error);
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += deletesAtOnce)
      await Promise.all(
        keys
          .slice(at, at + deletesAtOnce)
          .map((key) => attempt(rm(this.#paths.ofBlob(key), { force: true }))),
      );
  }

  list(after?: string): AsyncGenerator<readonly BlobInfo[]> {
    return listFolder(this.#paths, after);
  }

  /**
   * A new folder must be checked before its first use: this creates the folders in it. Later checks create nothing in an empty
   * folder: its mount may be lost.
   */
  async check(signal: AbortSignal): Promise<void> {
    await checkFolder({ store: this, paths: this.#paths, isNew: !this.#wasSeen }, signal);
    this.#wasSeen = true;
  }

  diskUsage(): Promise<DiskUsage> {
    return attempt(diskUsageOf(this.#paths.blobs));
  }

  async clearUnfinished(): Promise<number> {
    return attempt(clearUnfinishedIn(this.#paths, unfinishedMs));
  }

  async #open(key: string): Promise<FileDescriptor> {
    try {
      return await asyncFileCalls.open(this.#paths.ofBlob(key), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      throw await toReadFault(error, key, this.#paths);
    }
  }

  /** Writes a file in `unfinished/`, and renames it once it is whole. */
  async #write(content: Uint8Array | AsyncIterable<Uint8Array>, path: string): Promise<void> {
    const growing = join(this.#paths.unfinished, randomText(24));
    try {
      await this.#fill(growing, content);
      await this.#rename(growing, path);
    } catch (error) {
      await rm(growing, { force: true }).catch(() => {});
      throw error;
    }
    await this.#syncFolder(dirname(path));
  }

  /** Renames a file; if somebody has removed the folder of its shard, creates that first. */
  async #rename(growing: string, path: string): Promise<void> {
    try {
      await this.#changes.rename(growing, path);
    } catch (error) {
      const folder = dirname(path);
      if (codeOf(error) !== "ENOENT" || dirname(folder) !== this.#paths.blobs) throw error;
      this.#shards.delete(basename(folder));
      await this.#ensureShard(basename(folder));
      await this.#changes.rename(growing, path);
    }
  }

  async #fill(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    // One job for a thread of the pool, where a descriptor would take one for each of its calls.
    if (content instanceof Uint8Array)
      return writeFile(path, content, { flag: "wx", mode: fileMode, flush: this.#sync });
    const file = await this.#changes.open(path, "wx", fileMode);
    try {
      for await (const chunk of content) await writeAll(file, chunk);
      if (this.#sync) await file.datasync();
    } finally {
      await file.close();
    }
  }

  /**
   * Creates the folder of a shard, if this process has not used it yet, and makes its name durable: another node may have just
   * created it.
   */
  async #ensureShard(name: string): Promise<void> {
    if (this.#shards.has(name)) return;
    try {
      await this.#changes.mkdir(this.#paths.shard(name));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    await this.#syncFolder(this.#paths.blobs);
    this.#shards.add(name);
  }

  async #syncFolder(path: string): Promise<void> {
    if (!this.#sync) return;
    await this.#folderSyncs.run(path, async () => {
      const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
      await folder.sync().finally(() => folder.close());
    });
  }
}

/** The error of an upload: that of its source as it is, or that of the disk as a Fault. */
function toPutFault(error: unknown, content: HashedContent): unknown {
  return content.failure === undefined ? toFolderFault(error) : content.failure.error;
}

async function attempt<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toFolderFault(error);
  }
}

/** The stream of a part of a file, which it closes at its end. */
function streamOf(
  file: FileDescriptor,
  { key, start, end, signal }: ByteRange & { readonly key: string; readonly signal: AbortSignal },
): ReadableStream<Uint8Array> {
  let at = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          signal.throwIfAborted();
          const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(chunkBytes, end + 1 - at)));
          const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
          if (bytesRead === 0 && buffer.length > 0) throw new BlobDamagedFault(key);
          at += bytesRead;
          if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead));
          if (at <= end) return;
          await file.close();
          controller.close();
        } catch (error) {
          await file.close();
          controller.error(toFolderFault(error));
        }
      },
      cancel: async () => file.close(),
    },
    { highWaterMark: 0 },
  );
}
