import { CompiledQuery, sql, type Transaction } from "kysely";
import { Fault, messageOf } from "../../base/fault.ts";
import type { Dialect, Schema, WritableColumn } from "../dialect.ts";
import { applyMigrations, recordMigrations } from "../migrations/migrate.ts";
import { businessTables } from "../migrations/tables.ts";
import type { DatabaseShape, DatabaseSnapshot, PortableRow, TableShape } from "./portable.ts";

/** The number of values in one INSERT: databases limit the number of parameters. */
const maxValues = 2000;

/** LoadReport is what could not be taken over. */
export interface LoadReport {
  /** Columns, as `table.column`, that this server's schema does not have; their values are left out. */
  readonly unknownColumns: readonly string[];
}

/** InsertRows writes rows of a table, by ascending id. */
export type InsertRows = (table: string, rows: readonly PortableRow[]) => Promise<void>;

/**
 * LoadTarget is a database whose tables are about to be replaced. Nobody sees a change before `commit`; until then everything
 * stays as it was. Exactly one of `commit` and `discard` is called.
 */
export interface LoadTarget {
  /** Replaces the tables; see `loadTables`. */
  load(shape: DatabaseShape, work: (insert: InsertRows) => Promise<void>): Promise<LoadReport>;
  /** Opens what was loaded for reading; to be closed before `commit`. */
  loaded(): Promise<DatabaseSnapshot>;
  /** Puts the new tables in force. Returns the path of the previous database, if that was kept. */
  commit(): Promise<string | undefined>;
  discard(): Promise<void>;
}

/**
 * `loadTables` replaces the server's tables by those of `shape`, as its migrations made them, and fills them with the rows that
 * `work` inserts. Migrations that came later are not applied: the next start does that. All of it is part of `transaction`.
 */
export async function loadTables(
  dialect: Dialect,
  transaction: Transaction<Schema>,
  { shape, work }: { readonly shape: DatabaseShape; work(insert: InsertRows): Promise<void> },
): Promise<LoadReport> {
  for (const table of [...businessTables, "seaql_migrations"])
    await sql`DROP TABLE IF EXISTS ${sql.table(table)}`.execute(transaction);
  await applyMigrations(
    dialect,
    transaction,
    shape.migrations.map(({ version }) => version),
  );
  await recordMigrations(transaction, shape.migrations);
  const loaders = new Map<string, TableLoader>();
  for (const table of shape.tables) {
    const columns = await dialect.rowWriter.columns(transaction, table.name);
    if (!businessTables.includes(table.name) || columns.length === 0)
      throw new Fault("InvalidInput", `the table ${table.name} is not one of this server`);
    loaders.set(table.name, new TableLoader(dialect, transaction, { table, columns }));
  }
  await work(async (table, rows) => {
    const loader = loaders.get(table);
    if (loader === undefined) throw new Fault("InvalidInput", `the table ${table} was not announced`);
    await loader.insert(rows);
  });
  for (const { name, lastId } of shape.tables) await dialect.rowWriter.setLastId(transaction, name, lastId);
  return { unknownColumns: [...loaders.values()].flatMap(({ unknownColumns }) => unknownColumns) };
}

/** Slot is a column of the target and where its value is in a portable row. */
interface Slot {
  readonly at: number;
  readonly column: WritableColumn;
}

class TableLoader {
  readonly unknownColumns: readonly string[];
  readonly #dialect: Dialect;
  readonly #transaction: Transaction<Schema>;
  readonly #table: TableShape;
  readonly #slots: readonly Slot[];
  readonly #rowsAtOnce: number;

  constructor(
    dialect: Dialect,
    transaction: Transaction<Schema>,
    { table, columns }: { readonly table: TableShape; readonly columns: readonly WritableColumn[] },
  ) {
    this.#dialect = dialect;
    this.#transaction = transaction;
    this.#table = table;
    this.#slots = table.columns.flatMap((name, at) => {
      const column = columns.find((column) => column.name === name);
      return column === undefined ? [] : [{ at, column }];
    });
    this.unknownColumns = table.columns
      .filter((name) => !columns.some((column) => column.name === name))
      .map((name) => `${table.name}.${name}`);
    this.#rowsAtOnce = Math.max(1, Math.floor(maxValues / this.#slots.length));
  }

  async insert(rows: readonly PortableRow[]): Promise<void> {
    for (const row of rows)
      if (row.length !== this.#table.columns.length)
        throw new Fault("InvalidInput", `a row of the table ${this.#table.name} has ${row.length} values`);
    for (let at = 0; at < rows.length; ) {
      // Two statement texts a table, whatever the number of rows.
      const count = rows.length - at >= this.#rowsAtOnce ? this.#rowsAtOnce : 1;
      await this.#insert(rows.slice(at, at + count));
      at += count;
    }
  }

  async #insert(rows: readonly PortableRow[]): Promise<void> {
    const values = rows.flatMap((row) => this.#slots.map(({ at, column }) => column.bind(row[at] ?? null)));
    try {
      await this.#transaction.executeQuery(CompiledQuery.raw(this.#textFor(rows.length), values));
    } catch (error) {
      const at = this.#table.columns.indexOf("id");
      const [first, last] = [rows[0], rows.at(-1)].map((row) => JSON.stringify(row?.[at]));
      const which =
        rows.length === 1 ? `the row with id ${first}` : `one of the rows with ids ${first} to ${last}`;
      throw new Fault(
        "DatabaseError",
        `${which} of the table ${this.#table.name} cannot be written: ${error instanceof Fault ? error.detail : messageOf(error)}`,
        error instanceof Fault ? error.data : {},
        { cause: error },
      );
    }
  }

  #textFor(count: number): string {
    const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
    const names = this.#slots.map(({ column }) => quoted(column.name)).join(", ");
    let number = 0;
    const { rowWriter } = this.#dialect;
    const tuples = Array.from({ length: count }, () => {
      const parts = this.#slots.map(({ column }) => {
        number += 1;
        return column.expression(rowWriter.parameter(number));
      });
      return `(${parts.join(", ")})`;
    });
    return `INSERT INTO ${quoted(this.#table.name)} (${names}) VALUES ${tuples.join(", ")}`;
  }
}
