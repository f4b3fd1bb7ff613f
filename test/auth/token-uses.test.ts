import { expect, spyOn, test } from "bun:test";
import { TokenUses } from "../../src/auth/token-uses.ts";
import { type Database, openDatabase } from "../../src/db/database.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { ManualClock } from "../support/manual-clock.ts";
import {
  type DatabaseKind,
  eachDatabase,
  initDatabase,
  migratedDatabase,
  type TestNode,
  tempFolder,
  testNode,
} from "../support/node.ts";
import { stoppablePostgres } from "../support/postgres.ts";
import { until, within } from "../support/until.ts";

interface Times {
  readonly created_at: number | null;
  readonly last_used_at: number | null;
}

/** The times of a token as the Super Token sees them. */
const timesOf = async ({ call, superToken }: TestNode, token: string) =>
  (await call("token_get", { token, supertoken: superToken })) as Times;

eachDatabase("a token shows when it was created and when it was last used, at once", async (database) => {
  await using node = await testNode({ database });
  const before = Date.now();
  const token = await node.newToken([]);
  const created = await timesOf(node, token);
  expect(created.last_used_at).toBeNull();
  expect(created.created_at).toBeGreaterThanOrEqual(before);
  const own = (await node.call("token_get", { token })) as Times;
  expect(own.last_used_at).toBeGreaterThanOrEqual(created.created_at ?? Number.NaN);
  expect(await timesOf(node, token)).toEqual(expect.objectContaining({ last_used_at: own.last_used_at }));
  const { tokens } = (await node.call("token_list_all_tokens", [node.superToken])) as { tokens: Times[] };
  expect(tokens.map(({ created_at }) => created_at)).toEqual([expect.any(Number), created.created_at]);
  expect(tokens[1]).toMatchObject({ last_used_at: own.last_used_at });
});

eachDatabase("WebDAV is a use; a call that is refused for any reason is not", async (database) => {
  await using node = await testNode({ database });
  const weak = await node.newToken([]);
  await node.refused("node-server_exec_sql", { token: weak, sql: "SELECT 1" });
  const dav = await node.newToken([], { username: "dav", password: "correct horse" });
  const authorization = `Basic ${btoa("dav|correct horse".replace("|", ":"))}`;
  await fetch(`${node.url}/node/static-webdav/site/`, { method: "PROPFIND", headers: { authorization } });
  expect((await timesOf(node, dav)).last_used_at).not.toBeNull();
  const unused = await node.newToken([]);
  await node.refused("token_get", { token: `${unused.split(":")[0]}:wrong` });
  const expired = await node.newToken([], { timestamp_to: 1 });
  await node.refused("token_get", { token: expired });
  for (const token of [weak, unused, expired]) expect((await timesOf(node, token)).last_used_at).toBeNull();
});

eachDatabase("a stream that stays open uses its token", async (database) => {
  await using node = await testNode({ database });
  await using socket = await node.socket();
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "read_logs" }] }]);
  expect((await socket.call("log_stream", { token, log_filter: "off" })).error).toBeUndefined();
  const recorded = spyOn(TokenUses.prototype, "record");
  // The Super Token has the id 1, the first token after it 2.
  await until("it is used again", () => recorded.mock.calls.some(([id]) => id === 2));
  recorded.mockRestore();
});

eachDatabase("a server that stops stores the uses, and the next one shows them", async (kind) => {
  await using folder = await tempFolder();
  const place = await migratedDatabase(kind, folder.path);
  const superToken = "SuperKey12345678:SuperSecret12345678901234567890ab";
  await initDatabase(place.url, superToken);
  const first = await testNode({ databaseUrl: place.url });
  const { key, secret } = (await first.call("token_create", [superToken, { token_limit: [] }])) as {
    key: string;
    secret: string;
  };
  const { last_used_at } = (await first.call("token_get", { token: `${key}:${secret}` })) as Times;
  await first[Symbol.asyncDispose]();
  {
    await using second = await testNode({ databaseUrl: place.url });
    const seen = await second.call("token_get", { token: key, supertoken: superToken });
    expect(seen).toMatchObject({ last_used_at });
  }
  await place.drop();
});

/** A database with the schema and two tokens, and what it logs of its UPDATE statements. */
async function withTokens(kind: DatabaseKind) {
  const folder = await tempFolder();
  const place = await migratedDatabase(kind, folder.path);
  const hub = new LogHub();
  const updates: string[] = [];
  const database = await openDatabase(settingsFor(place.url), hub, { create: true });
  await place.run("INSERT INTO token (id, token_key, token_hash, token_limit) VALUES (1, 'a', '', '[]')");
  await place.run("INSERT INTO token (id, token_key, token_hash, token_limit) VALUES (2, 'b', '', '[]')");
  hub.attach({
    filter: parseFilter("off,db=trace"),
    write: ({ message, spans }) => {
      if (message.startsWith("UPDATE")) updates.push(spans.map(({ name }) => name).join());
    },
  });
  return {
    database,
    updates,
    log: hub.logger("token"),
    stored: () => storedTimes(database),
    async [Symbol.asyncDispose]() {
      await database.close();
      await place.drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function storedTimes(database: Database): Promise<(number | null)[]> {
  const rows = await Array.fromAsync(database.tokens.list());
  return rows.map(({ lastUsedAt }) => lastUsedAt);
}

eachDatabase(
  "many uses within a minute are one statement, with the first time of each token",
  async (kind) => {
    await using scene = await withTokens(kind);
    const { database, updates, log, stored } = scene;
    const uses = new TokenUses(database.tokenUses, { log, clock: new ManualClock() });
    for (let now = 1; now < 60_000; now += 1) for (const id of [1, 2]) uses.record(id, now);
    expect(uses.lastUse(1, null)).toBe(1);
    expect(uses.lastUse(2, 5000)).toBe(5000);
    expect(uses.lastUse(3, 7)).toBe(7);
    uses.record(1, 60_001);
    expect(uses.lastUse(1, null)).toBe(60_001);
    expect([await stored(), updates]).toEqual([[null, null], []]);
    await uses.close();
    expect([await stored(), updates]).toEqual([[60_001, 1], [""]]);
  },
);

eachDatabase("uses are stored in the background, again and again", async (kind) => {
  await using scene = await withTokens(kind);
  const { database, log, stored } = scene;
  const clock = new ManualClock();
  const uses = new TokenUses(database.tokenUses, { log, clock });
  for (const now of [60_000, 120_000, 180_000]) {
    uses.record(1, now);
    await clock.until(`${now} is stored`, 60_000, async () => (await stored())[0] === now);
  }
  expect(await stored()).toEqual([180_000, null]);
  await uses.close();
});

eachDatabase(
  "a later use that another server stored stays, and a deleted token is no problem",
  async (kind) => {
    await using scene = await withTokens(kind);
    const { database, log, stored } = scene;
    await database.tokenUses.store(new Map([[1, 900]]));
    const uses = new TokenUses(database.tokenUses, { log, clock: new ManualClock() });
    for (const id of [77, 2, 1]) uses.record(id, 500);
    await uses.close();
    expect(await stored()).toEqual([900, 500]);
  },
);

eachDatabase("a database that cannot be used drops the uses, and nothing fails", async (kind) => {
  await using scene = await withTokens(kind);
  const clock = new ManualClock();
  const uses = new TokenUses(scene.database.tokenUses, { log: scene.log, clock });
  await scene.database.close();
  uses.record(1, 100);
  await clock.until("they are dropped", 60_000, () => uses.lastUse(1, null) === null);
  uses.record(1, 200);
  await uses.close();
});

test("a PostgreSQL that does not answer does not delay a stop", async () => {
  await using postgres = await stoppablePostgres();
  const settings = { ...settingsFor(postgres.url), timeout_ms: 600_000 };
  const hub = new LogHub();
  const database = await openDatabase(settings, hub, { create: true });
  const uses = new TokenUses(database.tokenUses, { log: hub.logger("token"), clock: new ManualClock() });
  uses.record(1, 100);
  await postgres.pause();
  await within("the last write is given up", uses.close());
  await postgres.unpause();
  await database.close();
});

eachDatabase("tokens from before the names and times keep working, without them", async (kind) => {
  await using folder = await tempFolder();
  const place = await migratedDatabase(kind, folder.path);
  const open = () => openDatabase(settingsFor(place.url), new LogHub(), { create: true });
  for (const column of ["name", "created_at", "last_used_at"])
    await place.run(`ALTER TABLE token DROP COLUMN ${column}`);
  await place.run("DELETE FROM seaql_migrations WHERE version = 'm20261116_000002_token_name_and_times'");
  await place.run("INSERT INTO token (token_key, token_hash, token_limit) VALUES ('old', '', '[]')");
  const database = await open();
  expect(await Array.fromAsync(database.tokens.list())).toMatchObject([
    { key: "old", name: null, createdAt: null, lastUsedAt: null },
  ]);
  await database.close();
  await place.drop();
});
