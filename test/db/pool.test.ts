import { expect, test } from "bun:test";
import { SQL } from "bun";
import { systemClock } from "../../src/base/clock.ts";
import { parseSqliteUrl } from "../../src/base/database-url.ts";
import { type Dialect, schemaScope } from "../../src/db/dialect.ts";
import { openPostgres } from "../../src/db/postgres/postgres.ts";
import { openSqlite } from "../../src/db/sqlite/sqlite.ts";
import { LogHub } from "../../src/log/hub.ts";
import { openTestDatabase } from "../support/database.ts";
import {
  bothDatabases,
  type DatabaseKind,
  migratedDatabase,
  type TestNode,
  tempFolder,
  testNode,
} from "../support/node.ts";
import { until, within } from "../support/until.ts";

const log = new LogHub().logger("sqlx");
const patience = {
  connectTimeoutMs: 60_000,
  answerTimeoutMs: 60_000,
  idleTimeoutMs: 0,
  maxLifetimeMs: 0,
  maxConnections: 1,
};

/** A migrated database with one connection. */
async function openOne(
  kind: DatabaseKind,
  acquireTimeoutMs: number,
): Promise<{ dialect: Dialect } & AsyncDisposable> {
  const folder = await tempFolder();
  const { url, drop } = await migratedDatabase(kind, folder.path);
  const dialect =
    kind === "sqlite"
      ? await openSqlite(parseSqliteUrl(url), { acquireTimeoutMs, childCommand: [], clock: systemClock, log })
      : await openPostgres(url, { ...patience, acquireTimeoutMs, clock: systemClock }, log);
  return {
    dialect,
    async [Symbol.asyncDispose]() {
      await dialect.close();
      await drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const agent = (n: number) => ({ uuid: `00000000-0000-4000-8000-00000000000${n}`, soft_delete: false });
const agents = async ({ query }: Dialect) =>
  (await query.selectFrom("monitoring_uuid").select("uuid").orderBy("uuid").execute()).map(
    ({ uuid }) => uuid,
  );

bothDatabases(
  "a statement that finds no free connection in time says so and names the setting",
  async (kind) => {
    await using database = await openOne(kind, 50);
    const { dialect } = database;
    const held = Promise.withResolvers<void>();
    const holding = dialect.exclusively(schemaScope, () => held.promise);
    // A write: SQLite's reads need no turn.
    const write = dialect.query.insertInto("monitoring_uuid").values(agent(1)).execute();
    const refusal = await within(
      "a statement that cannot get a connection fails",
      write.catch((error: unknown) => error),
    );
    held.resolve();
    await holding;
    expect(refusal).toMatchObject({
      kind: "DatabaseError",
      code: 103,
      detail: expect.stringContaining("timeout_ms"),
      data: { reason: "unavailable" },
    });
    expect(await agents(dialect)).toEqual([]);
  },
);

bothDatabases("statements that wait for the connection run in the order they came", async (kind) => {
  await using database = await openOne(kind, 60_000);
  const { dialect } = database;
  const held = Promise.withResolvers<void>();
  const holding = dialect.exclusively(schemaScope, () => held.promise);
  const order: number[] = [];
  const waiting = [1, 2, 3].map(async (n) => {
    await dialect.query.insertInto("monitoring_uuid").values(agent(n)).execute();
    order.push(n);
  });
  held.resolve();
  await Promise.all([holding, ...waiting]);
  expect(order).toEqual([1, 2, 3]);
  expect(await agents(dialect)).toHaveLength(3);
});

bothDatabases(
  "a statement that fails inside a transaction takes the whole transaction back",
  async (kind) => {
    await using database = await openOne(kind, 60_000);
    const { dialect } = database;
    const failing = dialect.exclusively(schemaScope, async (transaction) => {
      await transaction.insertInto("monitoring_uuid").values(agent(1)).execute();
      await transaction.insertInto("monitoring_uuid").values(agent(1)).execute();
    });
    await expect(failing).rejects.toMatchObject({ kind: "DatabaseError", data: { unique: true } });
    expect(await agents(dialect)).toEqual([]);
    await dialect.exclusively(schemaScope, (transaction) =>
      transaction.insertInto("monitoring_uuid").values(agent(2)).execute(),
    );
    expect(await agents(dialect)).toEqual([agent(2).uuid]);
  },
);

bothDatabases(
  "work that throws inside a transaction takes it back, and the error stays what it was",
  async (kind) => {
    await using database = await openOne(kind, 60_000);
    const { dialect } = database;
    const failing = dialect.exclusively(schemaScope, async (transaction) => {
      await transaction.insertInto("monitoring_uuid").values(agent(1)).execute();
      throw new RangeError("changed my mind");
    });
    await expect(failing).rejects.toThrow(new RangeError("changed my mind"));
    expect(await agents(dialect)).toEqual([]);
  },
);

test("calls that wait too long for PostgreSQL get the clear error, and are served again when it has time", async () => {
  await using node = await testNode({
    database: "postgres",
    databaseKeys: "max_connections = 1\ntimeout_ms = 1000\n",
  });
  await using outside = new SQL({ url: node.databaseUrl, max: 1 });
  const lock = await outside.reserve();
  await lock.unsafe("BEGIN");
  await lock.unsafe("LOCK TABLE token IN ACCESS EXCLUSIVE MODE");
  const stuck = node.refused("token_get", { token: node.superToken });
  await untilBlocked(node);
  const refused = await Promise.all(
    [1, 2, 3].map(() => node.refused("token_get", { token: node.superToken })),
  );
  for (const error of [await stuck, ...refused])
    expect(error).toEqual({
      code: 103,
      message: expect.any(String),
      data: {
        kind: "DatabaseError",
        reason: "unavailable",
        retry_after_seconds: 5,
        detail: expect.any(String),
      },
    });
  expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
  await lock.unsafe("COMMIT");
  lock.release();
  expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
});

/** Until the server's statement waits for the lock. */
async function untilBlocked(node: TestNode): Promise<void> {
  await using watch = new SQL({ url: node.databaseUrl, max: 1 });
  await until("a statement waits for the lock", async () => {
    const [row] = await watch.unsafe("SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted");
    return row.n > 0;
  });
}

test("transactions leave a connection to the statements that their own work waits for (postgres)", async () => {
  await using database = await openTestDatabase("postgres", { max_connections: 3 });
  const { dialect } = database;
  const work = async (n: number) =>
    dialect.query.transaction().execute(async (transaction) => {
      await transaction.insertInto("monitoring_uuid").values(agent(n)).execute();
      return agents(dialect);
    });
  await within("all transactions end", Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(work)));
  expect(await agents(dialect)).toHaveLength(10);
});

test("a read of SQLite does not wait for a transaction, and sees what was committed before it", async () => {
  await using database = await openOne("sqlite", 50);
  const { dialect } = database;
  await dialect.query.insertInto("monitoring_uuid").values(agent(1)).execute();
  await dialect.exclusively(schemaScope, async (transaction) => {
    await transaction.insertInto("monitoring_uuid").values(agent(2)).execute();
    expect(await agents(dialect)).toEqual([agent(1).uuid]);
  });
  expect(await agents(dialect)).toEqual([agent(1).uuid, agent(2).uuid]);
});
