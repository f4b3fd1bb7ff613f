import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { codeOf, Fault } from "../base/fault.ts";
import { BlobStoreFault } from "../blobs/blob-store.ts";
import { listedPath, type TreePath, treeRoot } from "../buckets/path.ts";
import type { FileEntry, FileReader, FileStats, OpenFile, PublishedFiles } from "../buckets/ports.ts";
import { checkBucketPath } from "../buckets/record.ts";
import { walk } from "../buckets/tree-ops.ts";
import { build } from "../build.ts";
import type { DatabaseSnapshot, PortableRow, TableShape } from "../db/dump/portable.ts";
import { certificateKeysNamespace } from "../db/rows/certificate-rows.ts";
import {
  type BackupHeader,
  type BackupManifest,
  bytesMember,
  configName,
  databaseFolder,
  filesFolder,
  folderMember,
  formatVersion,
  headerName,
  type Member,
  manifestName,
} from "./manifest.ts";
import { endOfArchive, padding, tarHeader } from "./tar.ts";

/** Notes beyond this number are only counted. */
const maxNotes = 100;

interface BackupContent {
  readonly snapshot: DatabaseSnapshot;
  /** The text of the configuration. */
  readonly config: string;
  readonly serverUuid: string | undefined;
  /** The files of all buckets; undefined for a backup without files. */
  readonly files: PublishedFiles | undefined;
  /** True to include private keys of certificates. Beside the configuration, which has their secret, everybody could read them. */
  readonly keys?: boolean | undefined;
}

/** BackupProgress is how far a backup is. */
interface BackupProgress {
  readonly rows: number;
  readonly files: number;
  /** Bytes before compression. */
  readonly bytes: number;
}

export interface WriteOptions {
  /** Receives the compressed bytes. */
  write(bytes: Uint8Array): Promise<void>;
  progress?(progress: BackupProgress): void;
  readonly signal?: AbortSignal | undefined;
}

/** BackupSummary is what is in a backup. */
export interface BackupSummary extends BackupProgress {
  readonly compressedBytes: number;
  readonly notes: readonly string[];
}

/** `writeBackup` writes a backup as a stream, with bounded memory. It reads the snapshot and does not close it. */
export async function writeBackup(content: BackupContent, options: WriteOptions): Promise<BackupSummary> {
  const archive = new Archive(content, options);
  let compressedBytes = 0;
  await pipeline(
    Readable.from(archive.bytes(), { objectMode: false }),
    createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
    async (compressed: AsyncIterable<Uint8Array>) => {
      for await (const bytes of compressed) {
        await options.write(bytes);
        compressedBytes += bytes.length;
      }
    },
    options.signal === undefined ? {} : { signal: options.signal },
  );
  return { ...archive.progress, compressedBytes, notes: archive.notes };
}

/** BackupDescription is what a backup holds: its first and its last member. */
export interface BackupDescription {
  readonly header: BackupHeader;
  readonly manifest: BackupManifest;
}

/** `describeBackup` reads all that `writeBackup` would write, for a backup without files, and writes nothing. */
export async function describeBackup(
  content: Omit<BackupContent, "files">,
  signal: AbortSignal,
): Promise<BackupDescription> {
  const archive = new Archive({ ...content, files: undefined }, { async write() {} });
  for await (const _ of archive.bytes()) signal.throwIfAborted();
  const { manifest } = archive;
  const members = manifest.members.filter(({ name }) => name !== manifestName);
  return { header: archive.header(null), manifest: { ...manifest, members } };
}

class Archive {
  readonly notes: string[] = [];
  readonly #content: BackupContent;
  readonly #options: WriteOptions;
  readonly #members: BackupManifest["members"] = [];
  readonly #rows: Record<string, number> = {};
  readonly #files = { count: 0, bytes: 0 };
  #bytes = 0;
  readonly #madeAt = new Date();

  constructor(content: BackupContent, options: WriteOptions) {
    this.#content = content;
    this.#options = options;
  }

  get progress(): BackupProgress {
    const rows = Object.values(this.#rows).reduce((sum, count) => sum + count, 0);
    return { rows, files: this.#files.count, bytes: this.#bytes };
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    const { snapshot, config, files } = this.#content;
    const buckets = files === undefined ? null : await this.#buckets();
    yield* this.#member(this.#text(headerName, JSON.stringify(this.header(buckets), undefined, 2)));
    yield* this.#member(this.#text(configName, config));
    for (const table of snapshot.tables) yield* this.#table(table);
    const note = (text: string) => this.#note(text);
    for (const bucket of buckets ?? [])
      for await (const member of files === undefined ? [] : bucketMembers({ ...bucket, files, note })) {
        if (member.kind === "file") {
          this.#files.count += 1;
          this.#files.bytes += member.size;
        }
        yield* this.#member(member);
      }
    const { manifest } = this;
    yield* this.#member(this.#text(manifestName, JSON.stringify(manifest)));
    yield endOfArchive;
  }

  /** The members so far, and what they hold. */
  get manifest(): BackupManifest {
    return { members: [...this.#members], rows: this.#rows, files: this.#files, notes: this.notes };
  }

  header(buckets: BackupHeader["buckets"]): BackupHeader {
    const { snapshot, serverUuid } = this.#content;
    return {
      format: formatVersion,
      node_server: build.cargo_version,
      made_at: this.#madeAt.toISOString(),
      server_uuid: serverUuid ?? null,
      database: {
        kind: snapshot.kind,
        migrations: [...snapshot.migrations],
        tables: snapshot.tables.map(({ name, columns, lastId }) => ({
          name,
          columns: [...columns],
          last_id: lastId,
        })),
        other_tables: [...snapshot.otherTables],
      },
      buckets,
    };
  }

  /** The buckets of the snapshot itself, so that files and records belong together. */
  async #buckets(): Promise<{ name: string; path: string }[]> {
    const { snapshot } = this.#content;
    const table = snapshot.tables.find(({ name }) => name === "static_file");
    if (table === undefined) return [];
    const [nameAt, pathAt] = [table.columns.indexOf("name"), table.columns.indexOf("path")];
    const found: { name: string; path: string }[] = [];
    for await (const rows of snapshot.rows(table))
      for (const row of rows) {
        const bucket = { name: String(row[nameAt]), path: String(row[pathAt]) };
        const problem = problemOf(bucket.path, found);
        if (problem === undefined) found.push(bucket);
        else this.#note(`the files of the bucket ${bucket.name} are left out: ${problem}`);
      }
    return found;
  }

  async *#table(table: TableShape): AsyncGenerator<Uint8Array> {
    let number = 0;
    this.#rows[table.name] = 0;
    const { snapshot, keys } = this.#content;
    const at = table.name === "kv" && keys !== true ? table.columns.indexOf("namespace") : -1;
    for await (const all of snapshot.rows(table)) {
      const rows = at < 0 ? all : all.filter((row) => row[at] !== certificateKeysNamespace);
      number += 1;
      const name = `${databaseFolder}${table.name}/${String(number).padStart(6, "0")}.jsonl`;
      this.#rows[table.name] = (this.#rows[table.name] ?? 0) + rows.length;
      yield* this.#member(this.#text(name, linesOf(rows)));
    }
  }

  #text(name: string, text: string): Member {
    return bytesMember(name, Buffer.from(text), { mode: 0o600, modifiedMs: this.#madeAt.getTime() });
  }

  async *#member(member: Member): AsyncGenerator<Uint8Array> {
    yield tarHeader(member);
    const hash = createHash("sha256");
    for await (const bytes of member.content()) {
      hash.update(bytes);
      this.#bytes += bytes.length;
      this.#options.progress?.(this.progress);
      yield bytes;
    }
    const rest = padding(member.size);
    if (rest.length > 0) yield rest;
    this.#members.push({ name: member.name, size: member.size, sha256: hash.digest("hex") });
  }

  #note(text: string): void {
    if (this.notes.length < maxNotes) this.notes.push(text);
    else if (this.notes.length === maxNotes) this.notes.push("more notes are left out");
  }
}

/** `problemOf` returns why a restore would refuse a bucket. The server creates no such bucket, but another program may. */
function problemOf(path: string, others: readonly { readonly path: string }[]): string | undefined {
  try {
    checkBucketPath(path);
  } catch (error) {
    if (error instanceof Fault) return error.detail;
    throw error;
  }
  const overlapping = others.find(
    (other) => `${other.path}/`.startsWith(`${path}/`) || `${path}/`.startsWith(`${other.path}/`),
  );
  return overlapping && `its folder overlaps ${overlapping.path}`;
}

function linesOf(rows: readonly PortableRow[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

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
