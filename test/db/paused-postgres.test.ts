import { expect, test } from "bun:test";
import { SQL } from "bun";
import type { LogEntry } from "../../src/log/entry.ts";
import { limitDatabase } from "../support/database-limits.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { stoppablePostgres } from "../support/postgres.ts";
import { untilMissing } from "../support/ready.ts";
import { openRelay } from "../support/relay.ts";
import { until } from "../support/until.ts";
import { webdavSite } from "../support/webdav.ts";

const silent = {
  code: 103,
  message: expect.any(String),
  data: {
    kind: "DatabaseError",
    reason: "unavailable",
    retry_after_seconds: 5,
    detail: expect.any(String),
  },
};

/** The limit of stories in which `shortTimeoutMs` passes for one call after another. */
const silenceMs = 60_000;
const shortTimeoutMs = 1500;
const logging = 'memory_log_filter = "info"\nmemory_log_capacity = 1000\n';
const watched: readonly unknown[] = ["database.lost", "database.restored", "database.silent"];
const isDatabaseEvent = ({ event }: LogEntry["fields"]) => watched.includes(event);
const eventsOf = ({ node }: TestNode) =>
  node.ring
    .entries()
    .flatMap(({ level, fields }) => (isDatabaseEvent(fields) ? [[level, fields.event]] : []));

test(
  "while PostgreSQL is paused calls fail in time and plain HTTP goes on with the buckets it knows",
  async () => {
    await using postgres = await stoppablePostgres();
    const clock = new ManualClock();
    await using node = await testNode({ databaseUrl: postgres.url, logging, clock });
    const { superToken: token } = node;
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "hello")).status).toBe(201);
    const get = () => fetch(`${node.url}/node/static/site/a.txt`);
    await limitDatabase(node, shortTimeoutMs);
    await until("the file is served", async () => (await get()).status === 200);
    const before = eventsOf(node).length;

    await postgres.pause();
    expect(await node.refused("token_get", { token })).toEqual(silent);
    const refused = await dav("PUT", "/b.txt", {}, "b");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    // The last answer of the readiness is valid for a second.
    await clock.advance(1000);
    await untilMissing(node, "database");
    expect((await fetch(`${node.url}/node/health`)).status).toBe(200);
    // More callers than connections.
    const crowd = await Promise.all(Array.from({ length: 25 }, () => node.refused("token_get", { token })));
    for (const { code, data } of crowd) expect([code, data.reason]).toEqual([103, "unavailable"]);
    for (let second = 2; second < 59; second += 1) {
      const answer = await get();
      expect([second, answer.status, await answer.text()]).toEqual([second, 200, "hello"]);
      await clock.advance(1000);
    }
    await clock.advance(2000);
    const late = await get();
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "5"]);
    await until("the log tells the loss", () =>
      eventsOf(node)
        .slice(before)
        .some(([, event]) => event === "database.lost"),
    );

    await postgres.unpause();
    await until("calls succeed again", async () =>
      (await node.send("token_get", { token })).error === undefined ? true : undefined,
    );
    await limitDatabase(node);
    expect((await get()).status).toBe(200);
    expect((await dav("PUT", "/b.txt", {}, "b")).status).toBe(201);
    await clock.advance(1000);
    await untilMissing(node);
    expect(eventsOf(node).slice(before)).toEqual([
      ["WARN", "database.silent"],
      ["ERROR", "database.lost"],
      ["INFO", "database.restored"],
    ]);
  },
  silenceMs,
);

test(
  "behind a network that went silent every transport answers in time, and all is well when it speaks again",
  async () => {
    await using postgres = await stoppablePostgres();
    const { port } = new URL(postgres.url);
    await using relay = await openRelay(Number(port));
    await using node = await testNode({
      databaseUrl: postgres.url.replace(port, new URL(relay.url).port),
      logging,
      databaseKeys: "stale_seconds = 0\n",
    });
    const { superToken: token } = node;
    const { dav } = await webdavSite(node);
    expect((await dav("PUT", "/a.txt", {}, "hello")).status).toBe(201);
    await using socket = await node.socket();
    const get = () => fetch(`${node.url}/node/static/site/a.txt`);
    await limitDatabase(node, shortTimeoutMs);
    await untilMissing(node);
    const before = eventsOf(node).length;
    const events = () =>
      eventsOf(node)
        .slice(before)
        .map(([, event]) => event);

    relay.silence();
    await untilMissing(node, "database");
    await until("plain HTTP needs the database", async () => (await get()).status === 503);
    for (const { status, headers } of [
      await get(),
      await dav("GET", "/a.txt"),
      await dav("PUT", "/b.txt", {}, "b"),
    ])
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    for (const error of [
      await node.refused("token_get", { token }),
      (await socket.call("token_get", { token })).error,
    ])
      expect(error).toMatchObject({ code: 103, data: { reason: "unavailable" } });
    expect((await fetch(`${node.url}/node/health`)).status).toBe(200);
    expect((await fetch(`${node.url}/node/console/`)).status).toBe(200);
    await until("the log tells the loss", () => events().includes("database.lost"));

    await relay.mend();
    await untilMissing(node);
    await limitDatabase(node);
    expect(await node.call("token_get", { token })).toMatchObject({ username: "root" });
    expect((await get()).status).toBe(200);
    expect((await dav("PUT", "/b.txt", {}, "b")).status).toBe(201);
    expect(events().filter((event) => event === "database.lost")).toHaveLength(1);
  },
  silenceMs,
);

test("a statement that PostgreSQL does not answer is cancelled there, others are not cut, and exec_sql has its own limit", async () => {
  await using node = await testNode({
    database: "postgres",
    logging,
    databaseKeys: "timeout_ms = 1000\n",
  });
  const { superToken: token } = node;
  const { dav } = await webdavSite(node);
  await using outside = new SQL({ url: node.databaseUrl, max: 2 });
  const holder = await outside.reserve();
  await holder.unsafe("BEGIN");
  await holder.unsafe("LOCK TABLE kv IN ACCESS EXCLUSIVE MODE");
  const slow = node.call("node-server_exec_sql", { token, sql: "SELECT pg_sleep(3)" });
  const stuck = dav("PUT", "/a.txt", {}, "a");
  let isStuck = true;
  void stuck.finally(() => {
    isStuck = false;
  });
  while (isStuck) expect(await node.call("token_get", { token })).toMatchObject({ username: "root" });
  expect((await stuck).status).toBe(503);
  await until("nothing waits for the lock any more", async () => {
    const [row] = await outside.unsafe("SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted");
    return row.n === 0 ? true : undefined;
  });
  expect(eventsOf(node)).toEqual([["WARN", "database.silent"]]);
  await holder.unsafe("COMMIT");
  holder.release();
  expect((await dav("PUT", "/a.txt", {}, "a")).status).toBe(201);
  expect(await slow).toMatchObject({ row_count: 1 });
});
