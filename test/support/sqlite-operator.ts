import { Database } from "bun:sqlite";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { selfCommand } from "../../src/build.ts";
import { type ChannelKind, databaseVariable } from "../../src/db/operator/sqlite/channel.ts";
import { SqliteOperator } from "../../src/db/operator/sqlite/sqlite-operator.ts";
import { ManualClock } from "./manual-clock.ts";
import { tempFolder } from "./node.ts";
import { sqlChildrenOf } from "./sql.ts";

/** Sql is an operator on a new database. */
export interface Sql extends AsyncDisposable {
  readonly clock: ManualClock;
  /** The rows of a request. */
  rows(sql: string, options?: Partial<Parameters<SqliteOperator["run"]>[0]>): Promise<unknown>;
  /** The processes that run its statements. */
  children(): Promise<number[]>;
}

export async function operatorOver(channel: ChannelKind): Promise<Sql> {
  const folder = await tempFolder();
  const path = join(folder.path, "node.db");
  using file = new Database(path, { create: true });
  file.run("PRAGMA journal_mode = WAL");
  const clock = new ManualClock();
  const operator = new SqliteOperator(path, {
    command: selfCommand("sql-child"),
    clock,
    channel,
  });
  return {
    clock,
    async rows(sql, options = {}) {
      const bounds = { maxBytes: 10_000_000, limit: 10_000_000, timeoutMs: 0 };
      const { text } = await operator.run({ sql, params: null, ...bounds, ...options });
      return JSON.parse(text).data;
    },
    children: () => childrenOver(path),
    async [Symbol.asyncDispose]() {
      await operator.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The children of this process that have the database open; other tests run at the same time. */
async function childrenOver(path: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await sqlChildrenOf(process.pid)) {
    // A process may be gone between the listing and the reading.
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (environment.split("\0").includes(`${databaseVariable}=${path}`)) found.push(pid);
  }
  return found;
}
