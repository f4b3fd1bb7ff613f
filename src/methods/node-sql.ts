import { z } from "zod";
import { globally, type Need, owner, superToken } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { RawJson } from "../base/json.ts";
import { method } from "./declare.ts";

/** `storageSizes` is the size of each table and their sum, in bytes. */
const storageSizes = z.object({ tables: z.record(z.string(), z.int()), total: z.int() });

/** `tableSizesFor` returns the sizes to callers that meet `need`. */
const tableSizesFor = (need: Need) =>
  method({
    doc: "Returns the size of each table in bytes. On PostgreSQL this includes indexes and out-of-line storage; on SQLite it does not include indexes.",
    need,
    effect: "reads",
    params: {},
    result: storageSizes,
    fails: ["DatabaseError"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { tables: { crontab: 4096, token: 8192 }, total: 12288 },
    },
    run: async ({ database }) => storageResult(await database.operator.tableSizes()),
  });

/** `nodeDatabase` are the methods of the `node-server` namespace about the database and its size. */
export const nodeDatabase = {
  "node-server_get_database_type": method({
    doc: "Returns the type of the server's database.",
    need: globally("node.get_database_type"),
    effect: "reads",
    params: {},
    result: z.object({ success: z.literal(true), data: z.enum(["sqlite", "postgres", "mysql", "unknown"]) }),
    example: { params: { token: "<SUPER_TOKEN>" }, result: { success: true, data: "sqlite" } },
    run: ({ database }) => ({ success: true as const, data: database.kind }),
  }),
  "node-server_database_storage": tableSizesFor(superToken),
};

/** `storageResult` writes the JSON as text: an object would put names that look like numbers first. The migrations table is left out. */
function storageResult(sizes: ReadonlyMap<string, number>): RawJson {
  const tables = [...sizes]
    .filter(([name]) => name !== "seaql_migrations")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const members = tables.map(([name, bytes]) => `${JSON.stringify(name)}:${bytes}`);
  return new RawJson(
    `{"tables":{${members.join(",")}},"total":${tables.reduce((sum, [, bytes]) => sum + bytes, 0)}}`,
  );
}

/** `storage` is the namespace `storage`: the sizes for tokens that may read them and nothing else. */
export const storage = {
  storage_read: tableSizesFor(globally("node.read_storage")),
  storage_usage: method({
    doc: "Returns what takes space, in bytes: the tables of the database, and of all buckets the present files, the deploys that are not published, the trash and the unfinished uploads. The server counts buckets in the background, as for `static-bucket_usage`: `counted` says how many of `buckets` it has counted. In an object store, equal content takes its space once, but counts for each file.",
    need: globally("node.read_storage"),
    effect: "reads",
    params: {},
    result: z.object({
      database: z.int(),
      files: z.int(),
      deploys: z.int(),
      trash: z.int(),
      uploads: z.int(),
      buckets: z.int(),
      counted: z.int(),
    }),
    fails: ["DatabaseError"],
    example: {
      params: { token: "<SUPER_TOKEN>" },
      result: { database: 12288, files: 5, deploys: 0, trash: 0, uploads: 0, buckets: 1, counted: 1 },
    },
    run: async ({ database, buckets }) => {
      const tables = await database.operator.tableSizes();
      const names = await buckets.names();
      const counted = names.flatMap((name) => buckets.usage.usage.get(name) ?? []);
      const sum = (of: (usage: (typeof counted)[number]) => number) =>
        counted.reduce((total, usage) => total + of(usage), 0);
      return {
        database: [...tables.values()].reduce((total, size) => total + size, 0),
        files: sum(({ bytes }) => bytes),
        deploys: sum(({ deployBytes }) => deployBytes),
        trash: sum(({ trashBytes }) => trashBytes),
        uploads: sum(({ uploadBytes }) => uploadBytes),
        buckets: names.length,
        counted: counted.length,
      };
    },
  }),
};

const sqlParams = {
  sql: z.string(),
  params: z.unknown().optional().describe("an array of values for the placeholders, or null"),
};

const row = z.record(z.string(), z.unknown());

const columns = z
  .array(z.string())
  .readonly()
  .describe("the names of the columns, in order, also without rows; a repeated name is numbered");

/** Methods that run SQL of the operator. */
export const nodeSql = {
  "node-server_exec_sql": method({
    doc: "Runs SQL on the main database and returns the result of the last statement. If the result has more than 10,000 rows, you get the first 10,000, and `truncated` is true; `sql_open` reads all of them. Closing the connection of the call stops the statement. Give this permission only to people you trust fully: on SQLite they can write any file that the server can write.",
    need: globally("node.exec_sql"),
    secretResult: true,
    effect: "destroys",
    warning: "This runs SQL on the server's own database. Changes cannot be undone.",
    params: sqlParams,
    result: z.object({
      success: z.literal(true),
      columns,
      data: z.array(row),
      row_count: z.int(),
      truncated: z.boolean(),
    }),
    fails: ["DatabaseError", "InvalidInput", "ResponseTooBig"],
    example: {
      params: { token: "<SUPER_TOKEN>", sql: "SELECT id, token_key FROM token WHERE id = 1" },
      result: {
        success: true,
        columns: ["id", "token_key"],
        data: [{ id: 1, token_key: "eIWPZ6CqJxc2xuH4" }],
        row_count: 1,
        truncated: false,
      },
    },
    run: async ({ database, limits, buckets, resultBudgetBytes, audit, disconnected }, { sql, params }) => {
      const { maxAnswerBytes: limit, sqlTimeoutMs: timeoutMs } = limits();
      const request = {
        sql,
        params: listOf(params),
        maxBytes: resultBudgetBytes,
        limit,
        timeoutMs,
        signal: disconnected,
      };
      const statements = database.writingStatements(sql);
      try {
        // The statement may change a bucket's row.
        const result = await buckets.changing(database.operator.run(request));
        if (statements.length > 0) audit("sql.executed", { statements, outcome: "succeeded" });
        return result;
      } catch (error) {
        // Invalid input was not run.
        if (statements.length > 0 && !(error instanceof Fault && error.kind === "InvalidInput"))
          audit("sql.executed", { statements, outcome: "failed" });
        throw error;
      }
    },
  }),
  sql_open: method({
    doc: "Opens a cursor on a query, which reads any number of rows piece by piece, all as the database has them now. The query must be a single statement that returns rows, and cannot change the database. The cursor belongs to this WebSocket. It is closed with the last row, after an error, if nothing is read for a minute, an hour after it was opened, with the connection, and when its token is no longer valid. A server has at most 4 open cursors.",
    need: globally("node.exec_sql"),
    effect: "changes",
    params: sqlParams,
    result: z.object({ cursor: z.string(), columns }),
    fails: ["DatabaseError", "InvalidInput", "NeedsWebSocket", "TooManySubscriptions"],
    example: {
      params: { token: "<SUPER_TOKEN>", sql: "SELECT id, token_key FROM token" },
      result: { cursor: "mT3cQy0vKx8rW2hLp5nZ7bDf", columns: ["id", "token_key"] },
    },
    run: async ({ database, limits, audit, disconnected, hold, cancel }, { sql, params }) => {
      const { sqlTimeoutMs: timeoutMs } = limits();
      const request = { sql, params: listOf(params), timeoutMs, signal: disconnected };
      const { id, stop } = hold();
      const columns = await database.cursors.open(id, request, { stop, end: () => void cancel(id) });
      // The database refuses changes, but not every function of it that has an effect elsewhere.
      const statements = database.writingStatements(sql);
      if (statements.length > 0) audit("sql.executed", { statements, outcome: "succeeded" });
      return { cursor: id, columns };
    },
  }),
  sql_read: method({
    doc: "Returns the next rows of a cursor: up to 10,000, and fewer if they are large. With the last ones `done` is true, and the cursor is closed.",
    need: globally("node.exec_sql"),
    secretResult: true,
    effect: "reads",
    params: { cursor: z.string() },
    result: z.object({ data: z.array(row), done: z.boolean() }),
    fails: ["DatabaseError", "NotFound", "ResponseTooBig"],
    example: {
      params: { token: "<SUPER_TOKEN>", cursor: "<CURSOR>" },
      result: { data: [{ id: 1, token_key: "eIWPZ6CqJxc2xuH4" }], done: true },
    },
    run: ({ database, limits, resultBudgetBytes, disconnected, holds }, { cursor }) => {
      const { maxAnswerBytes: limit, sqlTimeoutMs: timeoutMs } = limits();
      const page = { maxBytes: resultBudgetBytes, limit, timeoutMs, signal: disconnected };
      return database.cursors.read(cursor, { ...page, isOwn: holds(cursor) });
    },
  }),
  sql_close: method({
    doc: "Closes a cursor of this connection. Returns false if the connection has no such cursor.",
    need: owner,
    effect: "changes",
    params: { cursor: z.string() },
    result: z.boolean(),
    example: { params: { cursor: "mT3cQy0vKx8rW2hLp5nZ7bDf" }, result: false },
    run: ({ cancel }, { cursor }) => cancel(cursor),
  }),
};

function listOf(params: unknown): readonly unknown[] | null {
  if (params == null) return null;
  if (Array.isArray(params)) return params;
  throw new Fault("InvalidInput", "params must be an array", { field: "params" });
}
