import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileClockTickMs } from "../../base/clock.ts";
import { codeOf } from "../../base/fault.ts";
import { type Context, stateFolder, writePrivate } from "../context.ts";
import { explainFileError } from "../errors.ts";
import { type FileStamp, hashBytes } from "./local-tree.ts";
import { type RemoteFile, sameTime } from "./remote-tree.ts";

/** KnownFile is a file that was the same on both sides: its stamp here, its hash, and its time in the bucket. */
interface KnownFile {
  readonly stamp: FileStamp;
  readonly hash: string;
  readonly remoteMtime: number;
}

type Row = [size: number, mtime: number, ctime: number, hash: string, remoteMtime: number];

/** RecordSubject is the folder and the bucket that a record is about. */
interface RecordSubject {
  readonly server: string;
  readonly bucket: string;
  readonly dir: string;
}

const format = 1;

/**
 * PushRecord is what earlier runs learnt about one folder and one bucket. The server keeps no hashes, so this is how a run knows
 * the content of a file there without reading it. A lost or wrong record costs time and nothing else: files that it does not
 * vouch for are compared.
 */
export class PushRecord {
  readonly #ctx: Context;
  readonly #path: string;
  readonly #subject: RecordSubject;
  readonly #files: Map<string, KnownFile>;
  #changed = false;

  private constructor(
    ctx: Context,
    { path, subject, files }: { path: string; subject: RecordSubject; files: Map<string, KnownFile> },
  ) {
    this.#ctx = ctx;
    this.#path = path;
    this.#subject = subject;
    this.#files = files;
  }

  static async open(ctx: Context, { server, bucket, dir }: RecordSubject): Promise<PushRecord> {
    const subject = { server, bucket, dir };
    const name = hashBytes(new TextEncoder().encode(JSON.stringify(subject))).slice(0, 32);
    const path = join(stateFolder(ctx), "push", `${name}.json`);
    return new PushRecord(ctx, { path, subject, files: await readRows(ctx, path) });
  }

  get(path: string): KnownFile | undefined {
    return this.#files.get(path);
  }

  /** Tells whether the file in the bucket is still the known one. */
  vouchesFor(path: string, remote: RemoteFile): boolean {
    const known = this.#files.get(path);
    return known?.stamp.size === remote.size && sameTime(known.remoteMtime, remote.mtime);
  }

  /** `readAt` is when the reading of the file here began. */
  set(path: string, { stamp, hash, remoteMtime, readAt }: KnownFile & { readonly readAt: number }): void {
    // So new that a further change might not show in its times: it is read again next time.
    const isFresh = readAt - Math.max(stamp.ctime, stamp.mtime) < fileClockTickMs;
    this.#files.set(path, { stamp: isFresh ? { ...stamp, ctime: 0 } : stamp, hash, remoteMtime });
    this.#changed = true;
  }

  forget(path: string): void {
    if (this.#files.delete(path)) this.#changed = true;
  }

  /** Forgets every file for which `exists` is false. */
  keepOnly(exists: (path: string) => boolean): void {
    for (const path of this.#files.keys()) if (!exists(path)) this.forget(path);
  }

  async save(): Promise<void> {
    if (!this.#changed) return;
    this.#changed = false;
    const files: Record<string, Row> = Object.fromEntries(
      [...this.#files].map(([path, { stamp, hash, remoteMtime }]) => [
        path,
        [stamp.size, stamp.mtime, stamp.ctime, hash, remoteMtime],
      ]),
    );
    try {
      await writePrivate(this.#path, `${JSON.stringify({ format, ...this.#subject, files })}\n`);
    } catch (error) {
      const why = explainFileError(error);
      if (why === undefined) throw error;
      this.#ctx.say(`note: the next run compares by content, because the record cannot be saved: ${why}`);
    }
  }
}

async function readRows(ctx: Context, path: string): Promise<Map<string, KnownFile>> {
  try {
    const record = JSON.parse(await readFile(path, "utf8")) as { format: number; files: Record<string, Row> };
    if (record.format !== format) return new Map();
    return new Map(
      Object.entries(record.files).map(([file, [size, mtime, ctime, hash, remoteMtime]]) => [
        file,
        { stamp: { size, mtime, ctime }, hash, remoteMtime },
      ]),
    );
  } catch (error) {
    if (codeOf(error) !== "ENOENT")
      ctx.say(`note: ${path} cannot be read; files are compared by content instead`);
    return new Map();
  }
}
