import { messageOf } from "../../base/fault.ts";
import { randomText } from "../../base/numbers.ts";
import type {
  MultipartValue,
  NumberedPart,
  UploadName,
  UploadOutcome,
  UploadRows,
  UploadValue,
} from "../../db/rows/upload-rows.ts";
import type { Logger } from "../../log/hub.ts";
import { countUpload, type FileActivity, type WriteOptions, type WrittenFile } from "../bucket-files.ts";
import { type TreePath, treePath } from "../path.ts";
import type { JoinedPieces, PartialContents, SinglePiece, StagedFile, StoredPiece } from "../ports.ts";
import type { Bucket } from "../record.ts";
import { isBusy, noUpload, tooManyUploads } from "./faults.ts";
import { lifetimeMs, maxPerBucket, maxPerToken, outcomeMs } from "./uploads.ts";

export type { NumberedPart };

/** MultipartUpload is an upload in numbered parts as it was when the database was asked. */
export interface MultipartUpload extends Omit<UploadValue, "path" | "multipart"> {
  readonly name: UploadName;
  readonly path: TreePath;
  readonly multipart: MultipartValue;
}

interface NewMultipartUpload extends MultipartValue {
  readonly path: TreePath;
  /** The key of the token that begins it. */
  readonly by: string;
}

/** NewPart is a part whose content is stored. */
interface NewPart extends Pick<NumberedPart, "number" | "md5" | "checksums"> {
  readonly stored: StoredContent;
}

/** StoredContent is the content of a part, before its row is written. */
interface StoredContent {
  readonly piece: string;
  readonly content: StoredPiece;
}

interface MultipartUploadsOptions {
  readonly rows: UploadRows;
  readonly contents: PartialContents;
  readonly activity: FileActivity;
  readonly log: Logger;
}

/**
 * MultipartUploads are files that arrive in numbered parts, in any order, as S3 has it. They are resumable uploads of another form: rows of
 * the same collection, with the same bounds and the same end, and each part is a piece that is stored by itself.
 */
export class MultipartUploads {
  readonly #options: MultipartUploadsOptions;
  /** The outcomes, by id, of uploads whose file is in place although that could not be written to their rows. */
  readonly #unwritten = new Map<string, UploadOutcome>();

  constructor(options: MultipartUploadsOptions) {
    this.#options = options;
  }

  async begin(
    target: Pick<Bucket, "id" | "name">,
    { path, by, ...multipart }: NewMultipartUpload,
  ): Promise<MultipartUpload> {
    const name = { bucketId: target.id, id: randomText(24) };
    const value = { path, by, multipart, target: target.name, length: 0, conditions: {} };
    const made = await this.#options.rows.insert(name, value, { maxPerBucket, maxPerToken, lifetimeMs });
    if (made === "bucket") throw tooManyUploads(made, maxPerBucket);
    if (made === "token") throw tooManyUploads(made, maxPerToken);
    return { ...made, path, multipart, name };
  }

  /** find returns an upload of a path; `noUpload` if there is none. */
  async find(target: Pick<Bucket, "id" | "name">, path: TreePath, id: string): Promise<MultipartUpload> {
    const name = { bucketId: target.id, id };
    const found = await this.#find(name);
    if (found?.multipart === undefined || found.target !== target.name || found.path !== path)
      throw noUpload();
    return { ...found, path, name, multipart: found.multipart };
  }

  async #find(name: UploadName): Promise<UploadValue | undefined> {
    const found = await this.#options.rows.get(name);
    const outcome = this.#unwritten.get(name.id);
    if (found !== undefined && found.outcome === undefined && outcome !== undefined)
      return { ...found, outcome };
    this.#unwritten.delete(name.id);
    return found;
  }

  /** unfinished returns the uploads of a bucket, those of one token or all, the oldest first. */
  async unfinished(target: Pick<Bucket, "id" | "name">, by: string | undefined): Promise<MultipartUpload[]> {
    const found = await this.#options.rows.unfinished(target.id, by);
    return [...found].flatMap(([id, upload]) =>
      upload.multipart === undefined || upload.target !== target.name
        ? []
        : [
            {
              ...upload,
              multipart: upload.multipart,
              path: treePath(upload.path),
              name: { bucketId: target.id, id },
            },
          ],
    );
  }

  parts({ name }: Pick<MultipartUpload, "name">): Promise<NumberedPart[]> {
    return this.#options.rows.numberedParts(name.id);
  }

  /** assertOpen throws unless the upload still exists and is not finished. */
  async assertOpen({ name }: Pick<MultipartUpload, "name">): Promise<void> {
    const found = await this.#find(name);
    if (found === undefined || found.outcome !== undefined) throw noUpload();
  }

  /** store keeps the content of a part. It counts once `putPart` has recorded it; until then `forget` deletes it. */
  async store(
    bucketPath: string,
    { name, path }: Pick<MultipartUpload, "name" | "path">,
    content: AsyncIterable<Uint8Array>,
  ): Promise<StoredContent> {
    const { contents, activity } = this.#options;
    const piece = `${name.id}/${randomText(16)}`;
    try {
      return {
        piece,
        content: await countUpload(activity, () =>
          contents.append({ id: piece, offset: 0, bucketPath, path }, content),
        ),
      };
    } catch (error) {
      await contents.discard(piece, []);
      throw error;
    }
  }

  async forget({ piece, content }: StoredContent): Promise<void> {
    await this.#options.contents.discard(piece, content.blob === undefined ? [] : [content.blob.key]);
  }

  /** putPart makes a stored part one of the upload, in the place of one with its number. */
  async putPart(
    { name }: Pick<MultipartUpload, "name">,
    { number, md5, checksums, stored }: NewPart,
  ): Promise<void> {
    const { size, blob } = stored.content;
    const put = await this.#options.rows.putPart(name, {
      number,
      piece: stored.piece,
      size,
      md5,
      checksums,
      ...(blob && { blob: blob.key, hash: blob.sha256 }),
    });
    if (put === undefined) {
      await this.forget(stored);
      throw noUpload();
    }
    const { replaced } = put;
    if (replaced !== undefined)
      await this.#options.contents.discard(
        replaced.piece,
        replaced.blob === undefined ? [] : [replaced.blob],
      );
  }

  /** contentOf yields the content of parts, one after the other. */
  async *contentOf(parts: readonly NumberedPart[]): AsyncGenerator<Uint8Array> {
    for (const part of parts) yield* this.#options.contents.read(toPiece(part));
  }

  /** join makes one file of parts, with its record; `contentOf` is for those whose content has to be read, too. */
  join(
    bucketPath: string,
    { name, path }: Pick<MultipartUpload, "name" | "path">,
    { parts, ...options }: JoinedParts,
  ): Promise<StagedFile> {
    const { contents, activity } = this.#options;
    const pieces = parts.map(toPiece);
    return countUpload(activity, () =>
      contents.join({ id: name.id, bucketPath, path }, { pieces, ...options }),
    );
  }

  /**
   * complete puts the whole file in place by `put`, and remembers the outcome for a client that lost the answer. As with resumable uploads,
   * a store whose names are rows writes the outcome in the transaction that names the file; others write it in the turn of the change. `put`
   * must ask `assertOpen` in that turn: a request that comes late would put the file in place of a newer one.
   */
  async complete(
    { name }: Pick<MultipartUpload, "name">,
    { etag, put }: CompleteOptions,
  ): Promise<UploadOutcome> {
    const { rows, contents, log } = this.#options;
    const outcomeOf = ({ created, stats }: WrittenFile) => ({ created, etag, modified: stats.modifiedMs });
    let unneeded: string[] | undefined;
    let outcome: UploadOutcome;
    try {
      const written = await put({
        onWritten: async (file, within) => {
          const finished = { outcome: outcomeOf(file), keepMs: outcomeMs };
          // The file is in place: what fails here is done again below, and until then nobody else puts the file in place.
          if (within === undefined) {
            this.#unwritten.set(name.id, finished.outcome);
            unneeded = await rows.finish(name, finished).catch(() => undefined);
            if (unneeded !== undefined) this.#unwritten.delete(name.id);
            return;
          }
          unneeded = await rows.finish(name, { ...finished, within });
          if (unneeded === undefined) throw isBusy();
        },
      });
      outcome = outcomeOf(written);
    } catch (error) {
      // Another request may have put it in place, or this one without learning it.
      const known = (await this.#find(name).catch(() => undefined))?.outcome;
      if (known === undefined) throw error;
      outcome = known;
    }
    try {
      unneeded ??= await rows.finish(name, { outcome, keepMs: outcomeMs });
      this.#unwritten.delete(name.id);
      await contents.discard(name.id, unneeded ?? []);
    } catch (error) {
      // The file is in place, and that is what the client is told. What is left here ends with the time of the upload.
      log.event("upload.work_failed", "the remains of a finished upload could not be removed", {
        reason: messageOf(error),
      });
    }
    return outcome;
  }

  /** abort deletes an upload and its parts. A finished one is only forgotten. */
  async abort({ name }: Pick<MultipartUpload, "name">): Promise<void> {
    const { rows, contents } = this.#options;
    await contents.discard(name.id, await rows.remove(name));
  }
}

interface JoinedParts extends Omit<JoinedPieces, "pieces"> {
  readonly parts: readonly NumberedPart[];
}

function toPiece({ piece, size, blob, hash }: NumberedPart): SinglePiece {
  return {
    id: piece,
    size,
    blob: blob === undefined || hash === undefined ? undefined : { key: blob, sha256: hash },
  };
}

interface CompleteOptions {
  /** The entity tag that S3 has for the whole. */
  readonly etag: string;
  readonly put: (options: Required<Pick<WriteOptions, "onWritten">>) => Promise<WrittenFile>;
}
