import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { Fault } from "../base/fault.ts";
import type { PublishedFiles } from "../buckets/ports.ts";
import { checkBucketPath } from "../buckets/record.ts";
import { build } from "../build.ts";
import type { DatabaseSnapshot, PortableRow, TableShape } from "../db/dump/portable.ts";
import { certificateKeysNamespace } from "../db/rows/certificate-rows.ts";
import { bucketMembers } from "./bucket-members.ts";
import {
  type BackupHeader,
  type BackupManifest,
  bytesMember,
  configName,
  databaseFolder,
  formatVersion,
  headerName,
  type Member,
  manifestName,
} from "./manifest.ts";
import { endOfArchive, padding, tarHeader } from "./tar.ts";

/** Notes beyond this number are only counted. */
const maxNotes = 100;

export interface BackupContent {
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
export interface BackupProgress {
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
