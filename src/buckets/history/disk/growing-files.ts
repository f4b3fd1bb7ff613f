import { constants } from "node:fs";
import { mkdir, open, readdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../../../base/fault.ts";
import {
  asyncFileCalls,
  type FileDescriptor,
  fileCallsFor,
  syncFileCalls,
  writeAll,
} from "../../../base/local-fs/file-calls.ts";
import { randomText } from "../../../base/numbers.ts";
import type {
  AssembledFile,
  JoinedPieces,
  PartialContents,
  PieceOfUpload,
  SinglePiece,
  StoredPiece,
  WholeUpload,
} from "../../ports.ts";
import { toTreeFault } from "../../trees/disk/disk-faults.ts";
import { DiskStagedFile } from "../../trees/disk/staging.ts";
import { storeRecord } from "../../trees/disk/stored-record.ts";
import { noUpload } from "../faults.ts";

const readBytes = 1024 * 1024;
/** A piece up to this size is copied by the system at once. */
const maxCopyBytes = 64 * 1024 * 1024;

interface GrowingFilesOptions {
  /** The folder of this server's uploads, on the file system of the buckets. */
  readonly folder: string;
  /** Whether a piece is on the disk, and not only in its cache, when it counts as stored. */
  readonly sync: boolean;
}

/** GrowingFiles keeps the content of each upload in one file, which grows and becomes the file of the bucket by a rename. */
export class GrowingFiles implements PartialContents {
  readonly #options: GrowingFilesOptions;

  constructor(options: GrowingFilesOptions) {
    this.#options = options;
  }

  async append(
    { id, offset, path }: PieceOfUpload,
    content: AsyncIterable<Uint8Array>,
  ): Promise<StoredPiece> {
    const { sync } = this.#options;
    try {
      const file = await this.#open(id, offset);
      try {
        // A power cut may have lost what was not synced.
        if ((await file.stat()).size < offset) throw noUpload();
        let size = 0;
        for await (const chunk of content) {
          await writeAll(file, chunk, offset + size);
          size += chunk.length;
        }
        if (sync) await file.datasync();
        return { size };
      } finally {
        await file.close();
      }
    } catch (error) {
      throw toTreeFault(error, path);
    }
  }

  async *read({ id, size }: SinglePiece): AsyncGenerator<Uint8Array> {
    const file = await this.#openToRead(id);
    try {
      for (let at = 0; at < size; ) {
        const buffer = Buffer.allocUnsafe(Math.min(readBytes, size - at));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
        if (bytesRead === 0) throw noUpload();
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      await file.close();
    }
  }

  /** Disposing the file deletes it. What a crash leaves of it ends with the upload. */
  async join(
    { id, path }: Omit<PieceOfUpload, "offset">,
    { pieces, record: recordOf, onProgress }: JoinedPieces,
  ): Promise<DiskStagedFile> {
    const { folder, sync } = this.#options;
    const diskPath = `${this.#pathOf(id)}/${randomText(16)}`;
    const size = pieces.reduce((sum, piece) => sum + piece.size, 0);
    const record = recordOf();
    const staged = new DiskStagedFile(diskPath, size, record);
    try {
      const file = await asyncFileCalls.open(diskPath, "wx", 0o644);
      try {
        for (const piece of pieces) await this.#append(file, piece, onProgress);
        if ((await file.stat()).size !== size) throw noUpload();
        if (record !== undefined)
          staged.isRecorded = fileCallsFor(folder) === syncFileCalls && storeRecord(diskPath, record);
        if (sync) await file.datasync();
      } finally {
        await file.close();
      }
      return staged;
    } catch (error) {
      await staged[Symbol.asyncDispose]();
      throw codeOf(error) === "ENOENT" ? noUpload() : toTreeFault(error, path);
    }
  }

  /** The system copies from file to file, at the present end of the new one. That of a long piece would show no progress. */
  async #append(file: FileDescriptor, piece: SinglePiece, onProgress: () => void): Promise<void> {
    if (piece.size === 0) return;
    if (piece.size > maxCopyBytes)
      for await (const chunk of this.read(piece)) {
        await writeAll(file, chunk);
        onProgress();
      }
    else {
      const copied = await Bun.write(Bun.file(file.fd), Bun.file(this.#pathOf(piece.id)));
      if (copied !== piece.size) throw noUpload();
    }
    onProgress();
  }

  async assemble({ id, path, length, wantsHash, onProgress }: WholeUpload): Promise<AssembledFile> {
    const diskPath = this.#pathOf(id);
    try {
      const file = await (length === 0 ? this.#open(id, 0) : asyncFileCalls.open(diskPath, "r+"));
      try {
        const { size } = await file.stat();
        if (size < length) throw noUpload();
        const sha256 = wantsHash ? await hashOf(file, length, onProgress) : undefined;
        return { staged: new GrownFile(diskPath, length), sha256 };
      } finally {
        await file.close();
      }
    } catch (error) {
      throw codeOf(error) === "ENOENT" ? noUpload() : toTreeFault(error, path);
    }
  }

  async discard(id: string): Promise<void> {
    await rm(this.#pathOf(id), { recursive: true, force: true });
  }

  /** Pieces have no content of their own here. */
  async drop(): Promise<void> {}

  async clear(live: () => Promise<ReadonlySet<string>>): Promise<number> {
    const names = await readdir(this.#options.folder).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    });
    if (names.length === 0) return 0;
    const ids = await live();
    const stray = names.filter((name) => !ids.has(name));
    for (const name of stray) await rm(this.#pathOf(name), { recursive: true, force: true });
    return stray.length;
  }

  async #openToRead(id: string): Promise<FileDescriptor> {
    try {
      return await asyncFileCalls.open(this.#pathOf(id), "r");
    } catch (error) {
      throw codeOf(error) === "ENOENT" ? noUpload() : error;
    }
  }

  #pathOf(id: string): string {
    return `${this.#options.folder}/${id}`;
  }

  /** Creates the file for the first piece, and makes its name durable. */
  async #open(id: string, offset: number): Promise<FileDescriptor> {
    const { folder, sync } = this.#options;
    try {
      return await asyncFileCalls.open(this.#pathOf(id), "r+");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      if (offset > 0) throw noUpload();
    }
    const above = dirname(this.#pathOf(id));
    await mkdir(above, { recursive: true });
    const file = await asyncFileCalls.open(this.#pathOf(id), "wx", 0o644);
    if (sync) await syncFolder(above);
    if (sync && above !== folder) await syncFolder(folder);
    return file;
  }
}

/** GrownFile is a complete upload. It is deleted by its owner, not when it is disposed: what forbids its place now may not do so later. */
class GrownFile extends DiskStagedFile {
  override async [Symbol.asyncDispose](): Promise<void> {}
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await folder.sync().finally(() => folder.close());
}

async function hashOf(file: FileDescriptor, length: number, onProgress: () => void): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  const buffer = Buffer.allocUnsafe(readBytes);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(readBytes, length - at), at);
    if (bytesRead === 0) throw noUpload();
    hasher.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
    onProgress();
  }
  return hasher.digest("hex");
}
