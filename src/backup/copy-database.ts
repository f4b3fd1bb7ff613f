import { shownDatabase } from "../base/database-url.ts";
import { Fault } from "../base/fault.ts";
import type { DatabaseSettings } from "../db/database.ts";
import { claimDatabase, isUnused, openLoadTarget, openSnapshot } from "../db/dump/load-target.ts";
import { type DatabaseSnapshot, digestTable } from "../db/dump/portable.ts";
import type { LogHub } from "../log/hub.ts";

interface CopyOptions {
  readonly from: DatabaseSettings;
  readonly to: DatabaseSettings;
  readonly hub: LogHub;
  /** Called after each batch of rows, and when a table is being compared. If it throws, the copy ends and nothing is changed. */
  progress?(step: CopyStep): void;
}

interface CopyStep {
  readonly doing: "copying" | "comparing";
  readonly table: string;
  /** Rows of all tables so far. */
  readonly rows: number;
}

interface CopiedTable {
  readonly name: string;
  readonly rows: number;
  readonly sha256: string;
}

export interface CopyReport {
  readonly tables: readonly CopiedTable[];
  readonly unknownColumns: readonly string[];
  /** Tables of the source that are not this server's; they stay behind. */
  readonly otherTables: readonly string[];
}

/**
 * `copyDatabase` copies a database into an empty one of either kind and compares rows and checksums of every table before it
 * commits. Throws, and leaves the target as it was, if a server uses one of the two or anything differs.
 */
export async function copyDatabase({ from, to, hub, progress }: CopyOptions): Promise<CopyReport> {
  const release = await claimDatabase(from, hub);
  try {
    const source = await openSnapshot(from, hub);
    try {
      if (!(await isUnused(to, hub)))
        throw new Fault(
          "InvalidInput",
          `the database ${shownDatabase(to.database_url)} is not empty; name a new one, or empty it first`,
        );
      return await copyInto(to, source, { hub, ...(progress && { progress }) });
    } finally {
      await source.close();
    }
  } finally {
    release();
  }
}

async function copyInto(
  to: DatabaseSettings,
  source: DatabaseSnapshot,
  { hub, progress }: Pick<CopyOptions, "hub" | "progress">,
): Promise<CopyReport> {
  const target = await openLoadTarget(to, hub);
  try {
    let copied = 0;
    const { unknownColumns } = await target.load(source, async (insert) => {
      for (const table of source.tables)
        for await (const rows of source.rows(table)) {
          await insert(table.name, rows);
          copied += rows.length;
          progress?.({ doing: "copying", table: table.name, rows: copied });
        }
    });
    if (unknownColumns.length > 0)
      throw new Fault(
        "InvalidInput",
        `the database has columns that this server does not know: ${unknownColumns.join(", ")}; drop them, or move their values into a table of your own`,
      );
    const loaded = await target.loaded();
    let tables: CopiedTable[];
    try {
      tables = await compare(source, loaded, progress);
    } finally {
      await loaded.close();
    }
    await target.commit();
    return { tables, unknownColumns, otherTables: source.otherTables };
  } catch (error) {
    await target.discard();
    throw error;
  }
}

async function compare(
  source: DatabaseSnapshot,
  loaded: DatabaseSnapshot,
  progress: CopyOptions["progress"],
): Promise<CopiedTable[]> {
  const jsonColumns = new Set([...source.jsonColumns, ...loaded.jsonColumns]);
  const tables: CopiedTable[] = [];
  let rows = 0;
  for (const table of source.tables) {
    progress?.({ doing: "comparing", table: table.name, rows });
    const [before, after] = [
      await digestTable(source, table, jsonColumns),
      await digestTable(loaded, table, jsonColumns),
    ];
    if (before.rows !== after.rows || before.sha256 !== after.sha256)
      throw new Fault(
        "DatabaseError",
        `the table ${table.name} is not the same after the copy (${before.rows} rows, then ${after.rows}); nothing was changed. Please report this`,
      );
    rows += after.rows;
    tables.push({ name: table.name, ...after });
  }
  return tables;
}
