import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath } from "node:fs/promises";
import { codeOf, Fault } from "../base/fault.ts";
import { asyncFileCalls } from "../base/local-fs/file-calls.ts";
import { Folder, isInside, locateHandle } from "../base/local-fs/folder.ts";
import type { BlobSettings } from "../blobs/open-blobs.ts";
import { fatalReasons } from "../buckets/copy-bucket.ts";
import { listedPath, stagedPrefix, type TreePath, treeRoot } from "../buckets/path.ts";
import type { FileEntry, FileReader, OpenFile } from "../buckets/ports.ts";
import { walk } from "../buckets/tree-ops.ts";
import { openObjectReaders } from "../buckets/trees/rows/open-readers.ts";
import type { DatabaseSettings } from "../db/database.ts";
import type { LogHub } from "../log/hub.ts";
import { bytesMember, filesFolder, folderMember, type Member } from "./manifest.ts";

/** FilesSource is where the files of the buckets are: below a folder, or in a blob store. It can be sent to another process as JSON. */
export type FilesSource = { readonly staticPath: string } | { readonly blobs: BlobSettings };

/** OpenFiles reads the files of buckets for a backup. */
export interface OpenFiles extends AsyncDisposable {
  /** The files of a bucket; `note` receives what is left out. */
  members(
    bucket: { readonly name: string; readonly path: string },
    note: (text: string) => void,
  ): AsyncGenerator<Member>;
}

/**
 * `openFiles` opens the store of the files beside a running server. Names in the database are read as they are now, not as the
 * backup's snapshot has them; but of each bucket one tree, whatever is published meanwhile.
 */
export async function openFiles(
  source: FilesSource,
  database: DatabaseSettings,
  hub: LogHub,
): Promise<OpenFiles> {
  if ("staticPath" in source)
    return {
      members: ({ path }, note) => bucketMembers({ staticPath: source.staticPath, path, note }),
      async [Symbol.asyncDispose]() {},
    };
  const readers = await openObjectReaders(source.blobs, database, hub);
  return {
    async *members(bucket, note) {
      yield* readerMembers({ reader: await readers.readerOfPublished(bucket), path: bucket.path, note });
    },
    [Symbol.asyncDispose]: () => readers[Symbol.asyncDispose](),
  };
}

/** A file up to this size is read whole, and again if it changed meanwhile. */
const maxWholeBytes = 1024 * 1024;
const chunkBytes = 256 * 1024;
const maxAttempts = 3;
/** Errors about one entry: no permission, a link in a circle or to nothing, a socket, something else in the place of a folder. */
const unreadable = new Set(["EACCES", "EPERM", "ELOOP", "ENOENT", "ENXIO", "ENOTDIR"]);

interface BucketTree {
  /** The real path of the folder of all buckets. */
  readonly staticPath: string;
  /** The bucket's path below it, its form checked. */
  readonly path: string;
  /** Receives what is left out, and files that changed while they were read. */
  note(text: string): void;
}

/**
 * `bucketMembers` yields the folders and files of a bucket. Links are not stored: one that leads to a file in the same bucket is
 * stored as that file, any other is left out.
 */
export async function* bucketMembers(tree: BucketTree): AsyncGenerator<Member> {
  let root: Folder;
  try {
    root = await openBucket(tree);
  } catch (error) {
    if (!unreadable.has(codeOf(error) ?? "")) throw error;
    return tree.note(`${tree.path}: the folder of the bucket cannot be read (${codeOf(error)})`);
  }
  try {
    // A tree that another deploy replaces meanwhile is not deleted as long as it is locked. Two backups at once: one lock serves
    // both as long as it lasts.
    root.tryLock();
    yield* new Walk(tree, root).folder(root, treeRoot);
  } finally {
    await root.close();
  }
}

/** Each segment is opened in the one before it, without following links. */
async function openBucket({ staticPath, path }: BucketTree): Promise<Folder> {
  let folder = await Folder.open(await realpath(staticPath));
  for (const segment of path.split("/")) {
    const above = folder;
    try {
      folder = await above.openChild(segment);
    } finally {
      await above.close();
    }
  }
  return folder;
}

class Walk {
  readonly #tree: BucketTree;
  readonly #root: Folder;

  constructor(tree: BucketTree, root: Folder) {
    this.#tree = tree;
    this.#root = root;
  }

  async *folder(folder: Folder, path: TreePath): AsyncGenerator<Member> {
    const { mode, mtimeMs } = await lstat(folder.at("."));
    yield folderMember(`${this.#nameOf(path)}/`, attributesOf({ mode, mtimeMs }));
    for (const name of (await readdir(folder.at("."))).sort()) {
      if (name.startsWith(stagedPrefix)) continue;
      const at = listedPath(path, name);
      if (at === undefined || name.includes("\ufffd")) {
        this.#note(path, `${JSON.stringify(name)} is left out: it is not a valid path in a bucket`);
        continue;
      }
      try {
        yield* this.#entry(folder, name, at);
      } catch (error) {
        const code = codeOf(error) ?? "";
        if (!unreadable.has(code)) throw error;
        // A file that was removed meanwhile is not missed; a link that leads nowhere is.
        if (code !== "ENOENT" || (await exists(folder.at(name))))
          this.#note(at, `is left out: it cannot be read (${code})`);
      }
    }
  }

  async *#entry(folder: Folder, name: string, path: TreePath): AsyncGenerator<Member> {
    const stats = await lstat(folder.at(name));
    if (stats.isDirectory()) {
      const child = await folder.openChild(name);
      try {
        yield* this.folder(child, path);
      } finally {
        await child.close();
      }
    } else if (stats.isFile() || stats.isSymbolicLink()) yield* this.#file(folder.at(name), path);
    else this.#note(path, "is left out: it is not a file or a folder");
  }

  async *#file(diskPath: string, path: TreePath): AsyncGenerator<Member> {
    const file = await open(diskPath, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || !(await this.#contains(file, diskPath)))
        return this.#note(path, "is left out: it is a link that does not point to a file of this bucket");
      if (stats.size > maxWholeBytes) yield this.#largeFile(file, stats, path);
      else yield await this.#smallFile(file, path);
    } finally {
      await file.close();
    }
  }

  /** Asks again: a deploy that is published meanwhile gives the folder, and all in it, another path. */
  async #contains(file: FileHandle, diskPath: string): Promise<boolean> {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const { real } = await locateHandle(file, diskPath, asyncFileCalls);
      if (isInside(real, await this.#root.presentPath())) return true;
    }
    return false;
  }

  async #smallFile(file: FileHandle, path: TreePath): Promise<Member> {
    for (let attempt = 1; ; attempt += 1) {
      const before = await file.stat();
      const bytes = Buffer.alloc(before.size);
      const length = await readFully(file, bytes, 0);
      const isSame = length === bytes.length && isUnchanged(before, await file.stat());
      if (!isSame && attempt < maxAttempts) continue;
      if (!isSame) this.#note(path, "changed while it was read");
      return bytesMember(this.#nameOf(path), bytes.subarray(0, length), attributesOf(before));
    }
  }

  /** Its size is written before its content. The server replaces files and never changes one, so only another program can. */
  #largeFile(file: FileHandle, before: Stats, path: TreePath): Member {
    const note = () => this.#note(path, "changed while it was read");
    return {
      ...attributesOf(before),
      name: this.#nameOf(path),
      kind: "file",
      size: before.size,
      async *content() {
        for (let at = 0; at < before.size; ) {
          const bytes = Buffer.alloc(Math.min(chunkBytes, before.size - at));
          // A file that became shorter is filled up with zeros.
          await readFully(file, bytes, at);
          at += bytes.length;
          yield bytes;
        }
        if (!isUnchanged(before, await file.stat())) note();
      },
    };
  }

  #nameOf(path: TreePath): string {
    const { path: bucket } = this.#tree;
    return `${filesFolder}${path === treeRoot ? bucket : `${bucket}/${path}`}`;
  }

  #note(path: TreePath, why: string): void {
    this.#tree.note(`${this.#nameOf(path).slice(filesFolder.length)} ${why}`);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** `readFully` returns fewer bytes than asked for only at the end of the file. */
async function readFully(file: FileHandle, bytes: Buffer, position: number): Promise<number> {
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, position + at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return at;
}

function isUnchanged(before: Stats, after: Stats): boolean {
  return before.size === after.size && before.mtimeMs === after.mtimeMs;
}

function attributesOf({ mode, mtimeMs }: Pick<Stats, "mode" | "mtimeMs">) {
  return { mode: mode & 0o777, modifiedMs: mtimeMs };
}

/** The modes of files and folders that a store without modes has, for a restore onto a disk. */
const fileMode = 0o644;
const folderMode = 0o755;

interface ReadBucket {
  readonly reader: FileReader;
  /** The bucket's path, its form checked. */
  readonly path: string;
  /** Receives what is left out. */
  note(text: string): void;
}

/** `readerMembers` yields the folders and files of a bucket of any store, a folder before what it contains. */
async function* readerMembers({ reader, path: bucket, note }: ReadBucket): AsyncGenerator<Member> {
  const nameOf = (path: TreePath) => `${filesFolder}${path === treeRoot ? bucket : `${bucket}/${path}`}`;
  let root: FileEntry | undefined;
  try {
    root = await reader.find(treeRoot);
  } catch (error) {
    if (!(error instanceof Fault) || fatalReasons.includes(error.data.reason)) throw error;
    return note(`${bucket}: the files of the bucket cannot be read: ${error.detail}`);
  }
  if (root === undefined) return;
  yield toFolder(nameOf(treeRoot), root);
  for await (const entry of walk(reader, treeRoot)) {
    if (entry.kind === "folder") yield toFolder(nameOf(entry.path), entry);
    else yield* fileMember(reader, entry, { name: nameOf(entry.path), note });
  }
}

function toFolder(name: string, { stats }: FileEntry): Member {
  return folderMember(`${name}/`, { mode: folderMode, modifiedMs: stats.modifiedMs });
}

/** A file that was removed meanwhile is not missed; one whose content the store has lost is noted. */
async function* fileMember(
  reader: FileReader,
  { path }: FileEntry,
  { name, note }: { readonly name: string; note(text: string): void },
): AsyncGenerator<Member> {
  let file: OpenFile;
  try {
    file = await reader.open(path);
  } catch (error) {
    if (error instanceof Fault && (error.kind === "NotFound" || error.kind === "InvalidInput")) return;
    throw error;
  }
  try {
    const { size, modifiedMs } = file.stats;
    const chunks = file.chunks();
    // Before its size is written: only then can it still be left out.
    const first = await chunks.next();
    yield {
      name,
      kind: "file",
      size,
      mode: fileMode,
      modifiedMs,
      async *content() {
        if (first.done) return;
        yield first.value;
        yield* chunks;
      },
    };
  } catch (error) {
    if (!(error instanceof Fault) || error.data.reason !== "blob_missing") throw error;
    note(`${name.slice(filesFolder.length)} is left out: the store has lost its content`);
  } finally {
    await file[Symbol.asyncDispose]();
  }
}
