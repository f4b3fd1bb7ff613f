import { expect, test } from "bun:test";
import { RawJson } from "../../src/base/json.ts";
import { cursorIdleMs, maxCursorMs, maxCursors, SqlCursors } from "../../src/db/operator/sql-cursors.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { bothDatabases, eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import type { TestSocket } from "../support/socket.ts";
import { endless, exec, rows, series } from "../support/sql.ts";
import { until } from "../support/until.ts";

const sharedNode = sharedNodes();

interface Opened {
  readonly cursor: string;
  readonly columns: readonly string[];
}

interface Page {
  readonly data: ReadonlyArray<Record<string, unknown>>;
  readonly done: boolean;
}

const open = async (socket: TestSocket, token: string, sql: string, params?: unknown) =>
  (await socket.call("sql_open", { token, sql, params })) as { result: Opened; error?: { data: object } };

const read = async (socket: TestSocket, token: string, cursor: string) =>
  (await socket.call("sql_read", { token, cursor })) as { result: Page; error?: { data: object } };

/** All pages of a cursor. */
async function pagesOf(node: TestNode, socket: TestSocket, sql: string, params?: unknown): Promise<Page[]> {
  const { result } = await open(socket, node.superToken, sql, params);
  const pages: Page[] = [];
  do pages.push((await read(socket, node.superToken, result.cursor)).result);
  while (pages.at(-1)?.done === false);
  return pages;
}

bothDatabases("a cursor reads every row once, in order, in pieces of 10,000 or about 1 MiB", async (kind) => {
  await using node = await sharedNode({ database: kind });
  await using socket = await node.socket();
  const pages = await pagesOf(node, socket, `SELECT n FROM ${series(kind, 25_001)} ORDER BY n`);
  expect(pages.map(({ data }) => data.length)).toEqual([10_000, 10_000, 5001]);
  expect(pages.flatMap(({ data }) => data).every(({ n }, at) => n === at + 1)).toBe(true);
  const wide = kind === "sqlite" ? "hex(zeroblob(5000))" : "repeat('0', 10000)";
  const large = await pagesOf(node, socket, `SELECT n, ${wide} AS w FROM ${series(kind, 500)}`);
  expect(large.length).toBeGreaterThan(2);
  expect(large.flatMap(({ data }) => data)).toHaveLength(500);
});

eachDatabase("a row that does not fit into an answer comes with the next one", async (kind) => {
  await using node = await testNode({ database: kind, top: "max_response_body_size = 20000" });
  await using socket = await node.socket();
  const zeros = (n: string) =>
    kind === "sqlite" ? `replace(hex(zeroblob(${n})), '00', '0')` : `repeat('0', ${n})`;
  const sql = `SELECT n, ${zeros("CASE WHEN n % 7 = 0 THEN 15000 ELSE 900 END")} AS w FROM ${series(kind, 300)} ORDER BY n`;
  const pages = await pagesOf(node, socket, sql);
  expect(pages.flatMap(({ data }) => data.map(({ n }) => n))).toEqual(
    Array.from({ length: 300 }, (_, at) => at + 1),
  );
  const { result } = await open(
    socket,
    node.superToken,
    `SELECT n, ${zeros("CASE WHEN n = 3 THEN 30000 ELSE 1 END")} AS w FROM ${series(kind, 3)} ORDER BY n`,
  );
  const first = await read(socket, node.superToken, result.cursor);
  const failed = first.error === undefined ? await read(socket, node.superToken, result.cursor) : first;
  expect(failed.error?.data).toMatchObject({ kind: "ResponseTooBig", limit: 20_000 });
});

bothDatabases("a cursor takes params, names its columns without rows, and keeps all digits", async (kind) => {
  await using node = await sharedNode({ database: kind });
  await using socket = await node.socket();
  const one = kind === "sqlite" ? "?" : "$1::int";
  expect(await pagesOf(node, socket, `SELECT ${one} AS a, 'x' AS a`, [7])).toEqual([
    { data: [{ a: 7, a_2: "x" }], done: true },
  ]);
  const { result } = await open(socket, node.superToken, "SELECT id, username FROM token WHERE 1 = 2;");
  expect(result.columns).toEqual(["id", "username"]);
  expect((await read(socket, node.superToken, result.cursor)).result).toEqual({ data: [], done: true });
  expect((await read(socket, node.superToken, result.cursor)).error?.data).toMatchObject({
    kind: "NotFound",
    field: "cursor",
  });
});

bothDatabases("a cursor shows the rows of the moment when it was opened", async (kind) => {
  await using node = await sharedNode({ database: kind });
  await using socket = await node.socket();
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (n INT)`);
  await exec(node, `INSERT INTO ${t} SELECT n FROM ${series(kind, 10_500)} WHERE true`);
  const { result } = await open(socket, node.superToken, `SELECT n FROM ${t}`);
  expect((await read(socket, node.superToken, result.cursor)).result.data).toHaveLength(10_000);
  await exec(node, `DELETE FROM ${t} WHERE n > 100`);
  expect((await read(socket, node.superToken, result.cursor)).result.data).toHaveLength(500);
  const unread = await open(socket, node.superToken, `SELECT n FROM ${t}`);
  await exec(node, `DELETE FROM ${t}`);
  expect((await read(socket, node.superToken, unread.result.cursor)).result.data).toHaveLength(100);
});

bothDatabases("a cursor changes nothing and takes one query only", async (kind) => {
  await using node = await sharedNode({ database: kind });
  await using socket = await node.socket();
  const t = node.own("t");
  await exec(node, `CREATE TABLE ${t} (n INT)`);
  const refused = async (sql: string) => (await open(socket, node.superToken, sql)).error?.data;
  expect(await refused(`INSERT INTO ${t} VALUES (1)`)).toMatchObject({ kind: "InvalidInput", field: "sql" });
  expect(await refused("SELECT 1; SELECT 2")).toMatchObject({ kind: "InvalidInput", field: "sql" });
  expect(await refused("")).toMatchObject({ kind: "InvalidInput", field: "sql" });
  expect(await refused("SELEC 1")).toMatchObject({ kind: "DatabaseError", line: 1, column: 1 });
  const returning = await open(socket, node.superToken, `INSERT INTO ${t} VALUES (1) RETURNING n`);
  const failed = returning.error ?? (await read(socket, node.superToken, returning.result.cursor)).error;
  expect(failed?.data).toMatchObject({ kind: "DatabaseError" });
  expect(await rows(node, `SELECT * FROM ${t}`)).toEqual([]);
});

eachDatabase("a server has few cursors, and one that is closed or left makes room", async (kind) => {
  await using node = await testNode({ database: kind });
  await using socket = await node.socket();
  const another = () => open(socket, node.superToken, `SELECT n FROM ${series(kind, 20_000)}`);
  const cursors: string[] = [];
  for (let n = 0; n < maxCursors; n += 1) cursors.push((await another()).result.cursor);
  expect((await another()).error?.data).toMatchObject({ reason: "too_many_cursors", limit: maxCursors });
  expect((await socket.call("sql_close", [cursors[0]])).result).toBe(true);
  expect((await socket.call("sql_close", [cursors[0]])).result).toBe(false);
  expect((await another()).error).toBeUndefined();
  await using next = await node.socket();
  expect((await open(next, node.superToken, "SELECT 1 AS one")).error).toBeDefined();
  socket.socket.close();
  await until("the cursors of the closed connection are gone", async () => {
    return (await open(next, node.superToken, "SELECT 1 AS one")).error === undefined;
  });
});

test("a cursor that is refused because of the others leaves nothing open at its caller", async () => {
  const cursor = { columns: [], next: () => Promise.reject(new Error("unread")), close: async () => {} };
  const cursors = new SqlCursors({ open: async () => cursor }, new ManualClock());
  const query = { sql: "SELECT 1", params: null, timeoutMs: 0 };
  const another = async (id: string) => {
    const held = new AbortController();
    const opened = cursors.open(id, query, { stop: held.signal, end: () => held.abort() });
    const kind = await opened.then(
      () => "opened",
      () => "refused",
    );
    return [kind, held.signal.aborted];
  };
  for (let n = 0; n < maxCursors; n += 1) expect(await another(`c${n}`)).toEqual(["opened", false]);
  expect(await another("one too many")).toEqual(["refused", true]);
});

eachDatabase("a cursor that nobody reads is closed after a minute", async (kind) => {
  const clock = new ManualClock();
  await using node = await testNode({ database: kind, clock });
  await using socket = await node.socket();
  const { result } = await open(socket, node.superToken, `SELECT n FROM ${series(kind, 30_000)}`);
  await clock.advance(cursorIdleMs - 1);
  expect((await read(socket, node.superToken, result.cursor)).result.data).toHaveLength(10_000);
  await clock.advance(cursorIdleMs - 1);
  expect((await read(socket, node.superToken, result.cursor)).result.data).toHaveLength(10_000);
  await clock.advance(cursorIdleMs);
  expect((await read(socket, node.superToken, result.cursor)).error?.data).toMatchObject({
    kind: "NotFound",
  });
  expect((await socket.call("sql_close", [result.cursor])).result).toBe(false);
});

test("a cursor that is read all the time is closed after an hour", async () => {
  const clock = new ManualClock();
  const page = { json: new RawJson("{}"), isLast: false };
  let isClosed = false;
  const cursor = {
    columns: [],
    next: async () => page,
    close: async () => {
      isClosed = true;
    },
  };
  const cursors = new SqlCursors({ open: async () => cursor }, clock);
  const held = new AbortController();
  const query = { sql: "SELECT 1", params: null, timeoutMs: 0 };
  await cursors.open("one", query, { stop: held.signal, end: () => held.abort() });
  const bounds = { maxBytes: 1, limit: 1, timeoutMs: 0, isOwn: true };
  const stepMs = cursorIdleMs / 2;
  for (let ms = stepMs; ms < maxCursorMs; ms += stepMs) {
    await clock.advance(stepMs);
    expect(await cursors.read("one", bounds)).toBe(page.json);
  }
  expect(isClosed).toBe(false);
  await clock.advance(stepMs);
  expect(isClosed).toBe(true);
  const refused = cursors.read("one", bounds);
  await expect(refused).rejects.toMatchObject({ kind: "NotFound" });
});

eachDatabase("a cursor is read by the connection that opened it alone", async (kind) => {
  await using node = await sharedNode({ database: kind });
  await using socket = await node.socket();
  await using other = await node.socket();
  const { result } = await open(socket, node.superToken, `SELECT n FROM ${series(kind, 3)}`);
  const { superToken: token } = node;
  expect((await read(other, token, result.cursor)).error?.data).toMatchObject({ kind: "NotFound" });
  expect((await node.refused("sql_read", { token, cursor: result.cursor })).data).toMatchObject({
    kind: "NotFound",
  });
  expect((await read(socket, token, result.cursor)).result.data).toHaveLength(3);
});

test("closing a cursor of PostgreSQL ends the read that runs", async () => {
  await using node = await sharedNode({ database: "postgres" });
  await using socket = await node.socket();
  const mark = node.own("mark").replaceAll(/\W/g, "_");
  const { result } = await open(socket, node.superToken, `SELECT pg_sleep(600) AS ${mark}`);
  const reading = read(socket, node.superToken, result.cursor);
  const running = async () =>
    (
      await rows(
        node,
        `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%${mark}%' AND pid <> pg_backend_pid()`,
      )
    ).length;
  await until("the read runs", async () => (await running()) === 1);
  expect((await socket.call("sql_close", [result.cursor])).result).toBe(true);
  expect((await reading).error?.data).toMatchObject({ kind: "NotFound" });
  await until("the read has ended", async () => (await running()) === 0);
});

eachDatabase("a cursor needs exec_sql, and ends with the token's permission", async (kind) => {
  const clock = new ManualClock();
  await using node = await testNode({ database: kind, clock });
  await using socket = await node.socket();
  const sql = `SELECT n FROM ${series(kind, 30_000)}`;
  const limit = (permission: string) => [{ scopes: ["global"], permissions: [{ node: permission }] }];
  const other = await node.newToken(limit("read_logs"));
  expect((await open(socket, other, sql)).error?.data).toMatchObject({ reason: "missing_permission" });
  const token = await node.newToken(limit("exec_sql"));
  const { result } = await open(socket, token, sql);
  expect((await read(socket, other, result.cursor)).error?.data).toMatchObject({ kind: "PermissionDenied" });
  expect((await read(socket, token, result.cursor)).result.done).toBe(false);
  await node.call("token_delete", { token: node.superToken, target_token: token.split(":")[0] });
  expect((await read(socket, token, result.cursor)).error?.data).toMatchObject({ kind: "PermissionDenied" });
  await until("the cursor has ended", async () => {
    await clock.advance(1000);
    return (await socket.call("sql_close", [result.cursor])).result === false;
  });
});

eachDatabase("a cursor needs a WebSocket, and obeys sql_timeout_ms", async (kind) => {
  await using node = await testNode({ database: kind, databaseKeys: "sql_timeout_ms = 300" });
  const params = { token: node.superToken, sql: "SELECT 1" };
  expect((await node.refused("sql_open", params)).data).toMatchObject({ kind: "NeedsWebSocket" });
  await using socket = await node.socket();
  // SQLite looks for the first row when the cursor is opened.
  const opened = await open(socket, node.superToken, endless(kind));
  const error = opened.error ?? (await read(socket, node.superToken, opened.result.cursor)).error;
  expect(error?.data).toMatchObject({ reason: "sql_timeout", limit: 300 });
  expect(await pagesOf(node, socket, "SELECT 1 AS one")).toEqual([{ data: [{ one: 1 }], done: true }]);
});

eachDatabase(
  "opening a cursor is audited as exec_sql is: if the statement may have an effect",
  async (kind) => {
    await using node = await testNode({ database: kind, logging: 'memory_log_filter = "off,audit=info"' });
    await using socket = await node.socket();
    await pagesOf(node, socket, "SELECT 1 AS one");
    await pagesOf(node, socket, "SELECT replace('a', 'b', 'c') AS one");
    expect(node.node.ring.entries().map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ event: "sql.executed", address: "127.0.0.1", statements: ["SELECT"] }),
    ]);
  },
);
