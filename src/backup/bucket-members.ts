import { codeOf, Fault } from "../base/fault.ts";
import { BlobStoreFault } from "../blobs/blob-store.ts";
import { listedPath, type TreePath, treeRoot } from "../buckets/path.ts";
import type { FileEntry, FileReader, FileStats, OpenFile, PublishedFiles } from "../buckets/ports.ts";
import { walk } from "../buckets/tree-ops.ts";
import { bytesMember, filesFolder, folderMember, type Member } from "./manifest.ts";

/** A file up to this size is read whole, and again if it changed meanwhile. */
const maxWholeBytes = 1024 * 1024;
const maxAttempts = 3;
/** The modes of files and folders that a store without modes has, for a restore onto a disk. */
const fileMode = 0o644;
const folderMode = 0o755;
const zeros = new Uint8Array(64 * 1024);

interface ReadBucket {
  readonly files: PublishedFiles;
  readonly name: string;
  /** The bucket's path, its form checked. */
  readonly path: string;
  /** Receives what is left out, and files that changed while they were read. */
  note(text: string): void;
}

/**
 * `bucketMembers` yields the folders and files of a bucket, a folder before what it contains. Links are not stored: one that leads to
 * a file in the same bucket is stored as that file, any other is left out.
 */
export async function* bucketMembers({ files, name, path, note }: ReadBucket): AsyncGenerator<Member> {
  try {
    await using tree = await files.open({ name, path });
    yield* new BucketWalk(tree.reader, path, note).members();
  } catch (error) {
    note(`${path}: the files of the bucket cannot be read: ${reasonOf(error)}`);
  }
}

class BucketWalk {
  readonly #reader: FileReader;
  readonly #bucket: string;
  readonly #note: (text: string) => void;

  constructor(reader: FileReader, bucket: string, note: (text: string) => void) {
    this.#reader = reader;
    this.#bucket = bucket;
    this.#note = note;
  }

  async *members(): AsyncGenerator<Member> {
    const root = await this.#reader.find(treeRoot);
    if (root === undefined) return;
    yield* this.#folder(root);
    const leaveOut = (path: TreePath, error: unknown) => this.#leaveOut(path, reasonOf(error));
    for await (const entry of walk(this.#reader, treeRoot, leaveOut))
      if (entry.kind === "folder") yield* this.#folder(entry);
      else yield* this.#file(entry.path);
  }

  /** A folder, and the files in it that only links name. */
  async *#folder({ path, stats }: FileEntry): AsyncGenerator<Member> {
    yield folderMember(`${this.#nameOf(path)}/`, attributesOf(stats, folderMode));
    for (const { name, isLink } of await this.#unlisted(path)) {
      const at = name.includes("\ufffd") ? undefined : listedPath(path, name);
      if (at === undefined)
        this.#leaveOut(path, "it is not a valid path in a bucket", `${JSON.stringify(name)} `);
      else if (!isLink) this.#leaveOut(at, "it is not a file or a folder");
      else if ((await this.#reader.find(at).catch(absent))?.kind !== "file")
        this.#leaveOut(at, "it is a link that does not point to a file of this bucket");
      else yield* this.#file(at);
    }
  }

  /** The walk names a folder that cannot be read. */
  async #unlisted(folder: TreePath) {
    try {
      return (await this.#reader.unlisted?.(folder)) ?? [];
    } catch (error) {
      reasonOf(error);
      return [];
    }
  }

  /** A file that was removed meanwhile is not missed. */
  async *#file(path: TreePath): AsyncGenerator<Member> {
    try {
      for (let attempt = 1; ; attempt += 1) {
        await using file = await this.#reader.open(path);
        // Only a file that another program can change is read again.
        if (file.isChanged === undefined || file.stats.size > maxWholeBytes)
          return yield await this.#large(file, path);
        const bytes = (await unlessChanged(file, () => file.bytes())) ?? new Uint8Array();
        const isChanged = (await file.isChanged?.()) === true;
        if (isChanged && attempt < maxAttempts) continue;
        if (isChanged) this.#noteChanged(path);
        return yield bytesMember(this.#nameOf(path), bytes, attributesOf(file.stats, fileMode));
      }
    } catch (error) {
      const reason = reasonOf(error);
      if (!(error instanceof Fault) || error.kind === "IoError") this.#leaveOut(path, reason);
    }
  }

  /** Its size is written before its content. Where another program can change it, it may become shorter; zeros fill it up. */
  async #large(file: OpenFile, path: TreePath): Promise<Member> {
    const { size } = file.stats;
    const chunks = file.chunks();
    const next = () => unlessChanged(file, () => chunks.next());
    // Before its size is written: only then can it still be left out.
    const first = await next();
    const noteChanged = () => this.#noteChanged(path);
    return {
      ...attributesOf(file.stats, fileMode),
      name: this.#nameOf(path),
      kind: "file",
      size,
      async *content() {
        let at = 0;
        for (let part = first; part !== undefined && !part.done; part = await next()) {
          at += part.value.length;
          yield part.value;
        }
        for (; at < size; at += Math.min(zeros.length, size - at)) yield zeros.subarray(0, size - at);
        if ((await file.isChanged?.()) === true) noteChanged();
      },
    };
  }

  #nameOf(path: TreePath): string {
    return `${filesFolder}${path === treeRoot ? this.#bucket : `${this.#bucket}/${path}`}`;
  }

  #leaveOut(path: TreePath, why: string, what = ""): void {
    this.#note(`${this.#nameOf(path).slice(filesFolder.length)} ${what}is left out: ${why}`);
  }

  #noteChanged(path: TreePath): void {
    this.#note(`${this.#nameOf(path).slice(filesFolder.length)} changed while it was read`);
  }
}

/** Undefined if the read failed because another program has changed the file. */
async function unlessChanged<T>(file: OpenFile, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if ((await file.isChanged?.()) === true) return undefined;
    throw error;
  }
}

function attributesOf({ mode, modifiedMs, record }: FileStats, usual: number) {
  return { mode: mode ?? usual, modifiedMs, ...(record && { record }) };
}

/** `reasonOf` returns why one file or folder cannot be read. Throws an error that is about more than that. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Fault)) throw error;
  if (error.data.reason === "blob_missing") return "the store has lost its content";
  if (error.kind === "NotFound" || error.kind === "InvalidInput") return error.detail;
  if (error.data.reason === "files_missing") return error.detail;
  // Of a blob store it would be about all files.
  const code = error instanceof BlobStoreFault ? undefined : codeOf(error.cause);
  if (code === "EACCES" || code === "EPERM") return `it cannot be read (${code})`;
  throw error;
}

/** A link in a circle, or one that leads through a file. */
function absent(error: unknown): undefined {
  reasonOf(error);
}
