import type { Clock } from "../../base/clock.ts";
import { Fault, messageOf } from "../../base/fault.ts";
import { randomText } from "../../base/numbers.ts";
import { Task } from "../../base/task.ts";
import type { UploadName, UploadOutcome, UploadRows, UploadValue } from "../../db/rows/upload-rows.ts";
import { isUnavailable } from "../../db/unavailable.ts";
import type { Logger } from "../../log/hub.ts";
import { countUpload, type FileActivity, type WriteOptions, type WrittenFile } from "../bucket-files.ts";
import { isBelow, type TreePath, treePath, treeRoot } from "../path.ts";
import type { PartialContents, StagedFile } from "../ports.ts";
import type { Bucket } from "../record.ts";
import { isBusy, noUpload, tooManyBytes, tooManyUploads, wrongDigest, wrongOffset } from "./faults.ts";

const hourMs = 3600 * 1000;
/** Lifetime of an upload from its beginning. */
export const lifetimeMs = 24 * hourMs;
/** Time for which the outcome of a finished upload is kept, for a client that lost the answer. */
export const outcomeMs = hourMs;
export const maxPerToken = 100;
export const maxPerBucket = 1000;
/** Bytes of a body after which they are made durable: a crash can lose as many. */
const pieceBytes = 16 * 1024 * 1024;

/**
 * UploadTarget is where an upload goes: a bucket's record, with the name by which the address calls it (`site`, or `site@id` for
 * a deploy).
 */
type UploadTarget = Pick<Bucket, "id" | "name" | "path">;

/** Upload is a resumable upload as it was when the database was asked. */
export interface Upload extends Omit<UploadValue, "path"> {
  readonly name: UploadName;
  readonly path: TreePath;
}

export type NewUpload = Pick<
  Upload,
  "path" | "by" | "length" | "modified" | "sha256" | "metadata" | "conditions"
>;

interface ReceiveOptions {
  /** The offset that the client believes in. */
  readonly from: number;
  readonly content: AsyncIterable<Uint8Array>;
  /** Called while content is read that has arrived already, which may take long. */
  readonly onProgress: () => void;
  /** put puts the whole file in place, by all the rules of a PUT. */
  readonly put: (
    staged: StagedFile,
    options: Required<Pick<WriteOptions, "onWritten">>,
  ) => Promise<WrittenFile>;
}

/** UploadProgress is the state of an upload after a request. */
export interface UploadProgress {
  readonly offset: number;
  /** Set once the file is in place. */
  readonly outcome: UploadOutcome | undefined;
}

/** A request that adds to an upload in this process. */
interface Receiving {
  readonly stop: AbortController;
  /** Undefined once all bytes are there: then nothing ends it early. */
  arrived: Promise<void> | undefined;
}

interface UploadsOptions {
  readonly rows: UploadRows;
  readonly contents: PartialContents;
  readonly activity: FileActivity;
  readonly log: Logger;
}

/**
 * Uploads are files that arrive in several requests. Nothing of one is visible before its last byte is there. The offset in its
 * row counts bytes that survive a crash, and stays below the length until the file is in place: so a client that reads the whole
 * length there knows that the upload has succeeded, and one whose last request failed sends at least the last byte again.
 */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #receiving = new Map<string, Receiving>();

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** begin makes an upload without content. */
  async begin(target: UploadTarget, upload: NewUpload): Promise<Upload> {
    const name = { bucketId: target.id, id: randomText(24) };
    const limits = { maxPerBucket, maxPerToken, lifetimeMs };
    const made = await this.#options.rows.insert(name, { ...upload, target: target.name }, limits);
    if (made === "bucket") throw tooManyUploads(made, maxPerBucket);
    if (made === "token") throw tooManyUploads(made, maxPerToken);
    return { ...made, path: upload.path, name };
  }

  /** find returns an upload of a path; `noUpload` if there is none, or it belongs to another target. */
  async find({ id: bucketId, name: target }: UploadTarget, path: TreePath, id: string): Promise<Upload> {
    const name = { bucketId, id };
    const found = await this.#options.rows.get(name);
    if (found === undefined || found.target !== target || found.path !== path) throw noUpload();
    if (found.multipart !== undefined) throw noUpload();
    return { ...found, path, name };
  }

  /** unfinished returns the uploads at a path and below it, those of one token or all, the oldest first. */
  async unfinished(
    { id: bucketId, name: target }: UploadTarget,
    { path, by }: { readonly path: TreePath; readonly by: string | undefined },
  ): Promise<Upload[]> {
    const found = [...(await this.#options.rows.unfinished(bucketId, by))].map(([id, upload]) => ({
      ...upload,
      name: { bucketId, id },
      path: treePath(upload.path),
    }));
    return found.filter(
      (upload) =>
        upload.target === target &&
        upload.multipart === undefined &&
        (path === treeRoot || upload.path === path || isBelow(upload.path, path)),
    );
  }

  /**
   * interrupt ends a request of this process that adds to the upload, once what it brought is stored: a client that asks for the
   * offset has given that request up, though its connection may look alive.
   */
  async interrupt(id: string): Promise<void> {
    const receiving = this.#receiving.get(id);
    if (receiving?.arrived === undefined) return;
    receiving.stop.abort();
    await receiving.arrived;
  }

  /**
   * receive stores content, and puts the file in place with its last byte. What arrived is kept if the body fails, or the file
   * cannot be put in place.
   */
  async receive(bucketPath: string, upload: Upload, options: ReceiveOptions): Promise<UploadProgress> {
    const { id } = upload.name;
    if (this.#receiving.has(id)) throw isBusy();
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const receiving: Receiving = { stop, arrived: promise };
    this.#receiving.set(id, receiving);
    try {
      const source = new PieceSource(options.content, stop.signal);
      const offset = await this.#store(bucketPath, upload, { from: options.from, source }).finally(() => {
        source.close();
        resolve();
      });
      if (typeof offset !== "number") return offset;
      if (offset < upload.length) return { offset, outcome: undefined };
      receiving.arrived = undefined;
      return { offset, outcome: await this.#finish(bucketPath, upload, options) };
    } finally {
      resolve();
      this.#receiving.delete(id);
    }
  }

  /** cancel deletes an upload and what it has brought. A finished one is only forgotten. */
  async cancel({ name }: Pick<Upload, "name">): Promise<void> {
    const receiving = this.#receiving.get(name.id);
    if (receiving !== undefined && receiving.arrived === undefined) throw isBusy();
    await this.interrupt(name.id);
    const { rows, contents } = this.#options;
    await contents.discard(name.id, await rows.remove(name));
  }

  /** clean deletes uploads whose time has passed, and content that belongs to none. Returns how many there were. */
  async clean(): Promise<number> {
    const { rows, contents } = this.#options;
    const expired = await rows.expired();
    for (const name of expired) await contents.discard(name.id, await rows.remove(name));
    await contents.drop(await rows.removeStrayParts());
    return expired.length + (await contents.clear(() => rows.liveIds()));
  }

  /** Stores what arrives, piece by piece, and returns the offset; the state itself if there was nothing to store. */
  async #store(
    bucketPath: string,
    { name, path, length }: Upload,
    { from, source }: { readonly from: number; readonly source: PieceSource },
  ): Promise<number | UploadProgress> {
    const { rows, contents, activity } = this.#options;
    const now = await rows.get(name);
    if (now === undefined) throw noUpload();
    if (now.offset !== from) throw wrongOffset(now.offset);
    if (now.outcome !== undefined) {
      if (await source.hasMore()) throw tooManyBytes(length);
      return { offset: now.offset, outcome: now.outcome };
    }
    let offset = from;
    let recorded = from;
    while (await source.hasMore()) {
      if (offset === length) throw tooManyBytes(length);
      const piece = source.piece(Math.min(pieceBytes, length - offset));
      const { size, blob } = await countUpload(activity, () =>
        contents.append({ id: name.id, offset, bucketPath, path }, piece),
      );
      const part = blob && { offset, size, blob: blob.key, hash: blob.sha256 };
      const to = Math.min(offset + size, length - 1);
      const replaced = await rows.advance(name, { from: recorded, to, part });
      if (replaced === undefined) {
        if (blob !== undefined) await contents.drop([blob.key]);
        throw isBusy();
      }
      await contents.drop(replaced);
      recorded = to;
      offset += size;
    }
    if (source.failure !== undefined) throw source.failure.error;
    if (source.isStopped) throw isBusy();
    return offset;
  }

  /**
   * In a store whose names are rows, the outcome is written in the transaction that names the file: no other request puts it in place
   * again, and one whose answer was lost, or that was overtaken on another node, finds the outcome.
   */
  async #finish(
    bucketPath: string,
    upload: Upload,
    { put, onProgress }: Pick<ReceiveOptions, "put" | "onProgress">,
  ): Promise<UploadOutcome> {
    const { rows, contents, log } = this.#options;
    const { name } = upload;
    let unneeded: string[] | undefined;
    const onWritten: WriteOptions["onWritten"] = async (written, within) => {
      if (within === undefined) return;
      unneeded = await rows.finish(name, { outcome: outcomeOf(written), keepMs: outcomeMs, within });
      if (unneeded === undefined) throw isBusy();
    };
    let outcome: UploadOutcome;
    try {
      await using staged = await this.#assemble(bucketPath, upload, onProgress);
      outcome = outcomeOf(await put(staged, { onWritten }));
    } catch (error) {
      const known = await this.#outcomeOf(name);
      if (known === undefined) throw error;
      outcome = known;
    }
    try {
      unneeded ??= await rows.finish(name, { outcome, keepMs: outcomeMs });
      await contents.discard(name.id, unneeded ?? []);
    } catch (error) {
      // The file is in place, and that is what the client is told. What is left here ends with the time of the upload.
      log.event("upload.work_failed", "the remains of a finished upload could not be removed", {
        reason: messageOf(error),
      });
    }
    return outcome;
  }

  async #assemble(
    bucketPath: string,
    { name, path, length, sha256: wanted }: Upload,
    onProgress: () => void,
  ): Promise<StagedFile> {
    const { rows, contents } = this.#options;
    const whole = { id: name.id, bucketPath, path, length, onProgress, wantsHash: wanted !== undefined };
    const { staged, sha256 } = await contents.assemble({ ...whole, parts: await rows.parts(name.id) });
    if (wanted === undefined || sha256 === wanted) return staged;
    await staged[Symbol.asyncDispose]();
    await contents.discard(name.id, await rows.remove(name));
    throw wrongDigest();
  }

  /** The outcome of an upload whose file could not be put in place: another request may have done it, or this one without learning it. */
  async #outcomeOf(name: UploadName): Promise<UploadOutcome | undefined> {
    try {
      return (await this.#options.rows.get(name))?.outcome;
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }
}

function outcomeOf({ created, stats }: WrittenFile): UploadOutcome {
  return { created, etag: stats.etag, modified: stats.modifiedMs };
}

/**
 * PieceSource divides a body into pieces while it arrives. A body that fails, or is stopped, ends its piece as a whole one does,
 * so that what arrived can be stored; `failure` and `isStopped` tell afterwards.
 */
class PieceSource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #stop: AbortSignal;
  #rest: Uint8Array | undefined;
  #isEnded = false;
  failure: { readonly error: unknown } | undefined;

  constructor(content: AsyncIterable<Uint8Array>, stop: AbortSignal) {
    this.#iterator = content[Symbol.asyncIterator]();
    this.#stop = stop;
  }

  get isStopped(): boolean {
    return this.#stop.aborted;
  }

  /** Waits until a byte has arrived; false if none will. */
  async hasMore(): Promise<boolean> {
    while (this.#rest === undefined || this.#rest.length === 0) {
      if (this.#isEnded) return false;
      await this.#read();
    }
    return true;
  }

  /** piece yields the next bytes, `maxBytes` at most. */
  async *piece(maxBytes: number): AsyncGenerator<Uint8Array> {
    for (let size = 0; size < maxBytes && (await this.hasMore()); ) {
      const rest = this.#rest ?? new Uint8Array();
      const chunk = rest.subarray(0, maxBytes - size);
      this.#rest = rest.subarray(chunk.length);
      size += chunk.length;
      yield chunk;
    }
  }

  /** Tells the body that nobody reads it any more, and does not wait for it: it may be silent. */
  close(): void {
    this.#isEnded = true;
    void Promise.resolve(this.#iterator.return?.()).catch(() => {});
  }

  async #read(): Promise<void> {
    try {
      const next = await this.#nextUnlessStopped();
      if (next === undefined || next.done) this.#isEnded = true;
      else this.#rest = next.value;
    } catch (error) {
      this.#isEnded = true;
      this.failure = { error };
    }
  }

  /** Each step has a listener of its own: one promise for all steps would keep every chunk until the end. */
  #nextUnlessStopped(): Promise<IteratorResult<Uint8Array> | undefined> {
    if (this.#stop.aborted) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const stop = () => resolve(undefined);
      const done = () => this.#stop.removeEventListener("abort", stop);
      this.#stop.addEventListener("abort", stop);
      this.#iterator.next().then(resolve, reject).finally(done);
    });
  }
}

const everyMs = 3600_000;
/** A start has more urgent work. */
const firstWaitMs = 5000;

/** uploadExpiry removes uploads that nobody has finished in time: soon after the start, and once an hour. */
export function uploadExpiry(uploads: Uploads, log: Logger, clock: Clock): Task {
  return new Task({
    clock,
    everyMs,
    firstMs: firstWaitMs,
    async run() {
      const removed = await uploads.clean();
      if (removed > 0)
        log.event("upload.expired", "uploads that were not finished in time were removed", { removed });
    },
    failed(error) {
      const reason = error instanceof Fault ? error.detail : messageOf(error);
      log.event("upload.work_failed", "uploads that ended could not be removed", { reason });
    },
  });
}
