import { type BlobSettings, openBlobs, proveBlobs } from "../blobs/open-blobs.ts";
import { type RestoredItem, RestoredTrees, type TreeRow } from "../buckets/maintenance/restored-trees.ts";
import type { PortableRow, TableShape } from "../db/dump/portable.ts";
import type { InsertRows } from "../db/dump/table-loader.ts";
import { nodesNamespace } from "../db/rows/node-rows.ts";
import { storeNamespace } from "../db/rows/store-rows.ts";
import type { BucketPath } from "./manifest.ts";
import type { TarMember } from "./tar.ts";

/** The namespaces of the names of files. */
const treesPrefix = "static-files/";
/** A file up to this size is read whole, so that several can be stored at once. */
const maxWholeBytes = 1024 * 1024;
const maxUploadsAtOnce = 16;
const rowsAtOnce = 500;

/** ObjectsTarget is the blob store that the files of a backup go into. */
export interface ObjectsTarget {
  readonly blobs: BlobSettings;
  readonly sync: boolean;
}

/**
 * RestoredObjects are the buckets of a backup on their way into a blob store: content goes there at once, names become rows of the
 * database that is being loaded, so that they appear with its commit. If the restore fails, the content is deleted by a later sweep.
 */
export class RestoredObjects {
  readonly #trees: RestoredTrees;
  readonly #table: TableShape;
  readonly #signal: AbortSignal;
  #lastId: bigint;
  #insert: InsertRows | undefined;
  #rows: TreeRow[] = [];
  readonly #uploads = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  private constructor(trees: RestoredTrees, table: TableShape, signal: AbortSignal) {
    this.#trees = trees;
    this.#table = table;
    this.#lastId = BigInt(table.lastId);
    this.#signal = signal;
  }

  /** Throws what an operator has to do if the store cannot be used. `table` is `kv` in the backup. */
  static async open(
    { blobs: settings, sync }: ObjectsTarget,
    table: TableShape,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<RestoredObjects> {
    const blobs = openBlobs(settings, { sync });
    await proveBlobs(blobs, signal);
    return new RestoredObjects(new RestoredTrees(blobs), table, signal);
  }

  /** The table `kv` with the rows that were added. */
  get table(): TableShape {
    const lastId = () => String(this.#lastId);
    return {
      ...this.#table,
      get lastId() {
        return lastId();
      },
    };
  }

  /** To be called with what the database is loaded by, before the first `add`. */
  begin(insert: InsertRows): void {
    this.#insert = insert;
  }

  async add(at: BucketPath, member: TarMember): Promise<void> {
    if (member.kind === "folder" || member.size > maxWholeBytes)
      return this.#keep(await this.#trees.add(at, member, this.#signal));
    const parts: Uint8Array[] = [];
    for await (const bytes of member.content()) parts.push(Uint8Array.from(bytes));
    while (this.#uploads.size >= maxUploadsAtOnce) await Promise.race(this.#uploads);
    this.#throwFailure();
    const { kind, size, modifiedMs } = member;
    const upload = this.#upload(at, { kind, size, modifiedMs, content: () => chunksOf(parts) }).finally(() =>
      this.#uploads.delete(upload),
    );
    this.#uploads.add(upload);
  }

  /** Writes the last rows. */
  async finish(): Promise<void> {
    await Promise.all(this.#uploads);
    this.#throwFailure();
    await this.#flush();
  }

  async #upload(at: BucketPath, item: RestoredItem): Promise<void> {
    try {
      this.#rows.push(...(await this.#trees.add(at, item, this.#signal)));
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #keep(rows: readonly TreeRow[]): Promise<void> {
    this.#rows.push(...rows);
    if (this.#rows.length >= rowsAtOnce) await this.#flush();
  }

  async #flush(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    const portable = rows.map((row) => this.#toPortable(row));
    if (portable.length > 0) await this.#insert?.(this.#table.name, portable);
  }

  #toPortable({ namespace, key, value }: TreeRow): PortableRow {
    this.#lastId += 1n;
    const id = Number(this.#lastId);
    const values: Readonly<Record<string, PortableRow[number]>> = {
      id: Number.isSafeInteger(id) ? id : { integer: String(this.#lastId) },
      namespace,
      key,
      value: JSON.stringify(value),
    };
    return this.#table.columns.map((name) => values[name] ?? null);
  }
}

/** `withoutTrees` leaves out the names of files that are in the rows of a backup: its files are restored, and get new ones. */
export function withoutTrees(insert: InsertRows, kv: TableShape): InsertRows {
  return without(insert, kv, (namespace) => namespace.startsWith(treesPrefix));
}

/**
 * `withoutStore` leaves out to which store the database of a backup belonged: that may be used by the server of which the backup
 * was made.
 */
export function withoutStore(insert: InsertRows, kv: TableShape): InsertRows {
  return without(insert, kv, (namespace) => namespace === storeNamespace);
}

/** Also leaves out the nodes that used the database of the backup. */
function without(
  insert: InsertRows,
  { name, columns }: TableShape,
  isLeftOut: (namespace: string) => boolean,
): InsertRows {
  const at = columns.indexOf("namespace");
  const stays = (row: PortableRow) => row[at] !== nodesNamespace && !isLeftOut(String(row[at]));
  return (table, rows) => insert(table, table === name ? rows.filter(stays) : rows);
}

async function* chunksOf(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
