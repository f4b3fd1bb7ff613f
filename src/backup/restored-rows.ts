import type { TreeRow } from "../buckets/trees/rows/new-trees.ts";
import type { PortableRow, TableShape } from "../db/dump/portable.ts";
import type { InsertRows } from "../db/dump/table-loader.ts";
import { nodesNamespace } from "../db/rows/node-rows.ts";
import { storeNamespace } from "../db/rows/store-rows.ts";

/** The namespaces of the names of files. */
const treesPrefix = "static-files/";

/** RestoredRows are the rows of `kv` that a restore adds to those of the backup: the names of files that get new blobs. */
export class RestoredRows {
  readonly #table: TableShape;
  #lastId: bigint;
  #insert: InsertRows | undefined;

  /** `table` is `kv` in the backup. */
  constructor(table: TableShape) {
    this.#table = table;
    this.#lastId = BigInt(table.lastId);
  }

  /** The table with the rows that were added. */
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

  async add(rows: readonly TreeRow[]): Promise<void> {
    await this.#insert?.(
      this.#table.name,
      rows.map((row) => this.#toPortable(row)),
    );
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
