import { expect, test } from "bun:test";
import { SQL } from "bun";
import { systemClock } from "../../src/base/clock.ts";
import { openDatabase } from "../../src/db/database.ts";
import { Reachability } from "../../src/db/postgres/postgres-pool.ts";
import { probeDatabase } from "../../src/db/probe.ts";
import { unavailable } from "../../src/db/unavailable.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { metricsOf } from "../support/metrics.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { administrate, newPostgresDatabase, postgresUrl, stoppablePostgres } from "../support/postgres.ts";
import { untilMissing } from "../support/ready.ts";
import { type Notification, openSocket, type TestSocket } from "../support/socket.ts";
import { until } from "../support/until.ts";

const logging = 'memory_log_filter = "info"\nmemory_log_capacity = 1000\n';

/** The server's own lines about its database, as [level, event]. */
function eventsOf({ node }: TestNode): unknown[] {
  return node.ring
    .entries()
    .filter(
      ({ target, fields }) =>
        target === "db" && fields.event !== undefined && fields.event !== "database.migrated",
    )
    .map(({ level, fields, spans }) => [level, fields.event, spans.length]);
}

const lost = ["ERROR", "database.lost", 0];
const restored = ["INFO", "database.restored", 0];
const hears = (node: TestNode, events: readonly unknown[]) =>
  until(`the log tells ${JSON.stringify(events)}`, () =>
    Bun.deepEquals(eventsOf(node), events) ? true : undefined,
  );

/** What every way to ask answers that needs the database. */
async function answersOf(node: TestNode, token: string) {
  const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
  const http = [
    await fetch(`${node.url}/node/static/site/a.txt`),
    await fetch(`${node.url}/node/static/site/a.txt`, { method: "HEAD" }),
    await fetch(`${node.url}/`),
    await fetch(`${node.url}/node/static-webdav/site/a.txt`, { headers: { authorization } }),
    await fetch(`${node.url}/node/metrics`, { headers: { authorization } }),
    await fetch(`${node.url}/node/static-webdav/site/b.txt`, {
      method: "PUT",
      headers: { authorization },
      body: "b",
    }),
  ];
  return {
    statuses: http.map(({ status, headers }) => [status, headers.get("retry-after")]),
    texts: await Promise.all(http.map((response) => response.text())),
    errors: await Promise.all([
      node.refused("token_get", { token }),
      node.refused("node-server_exec_sql", { token, sql: "SELECT 1" }),
      node.refused("node-server_database_storage", { token }),
      node.refused("static-bucket_create", [token, "other"]),
      node.refused("static-bucket-file_read", [token, "site", "a.txt"]),
    ]),
  };
}

/** Waits for an event of a log that is streamed; what else the server could not do meanwhile may come before it. */
async function heard(socket: TestSocket, event: string): Promise<void> {
  await until(`the stream tells ${event}`, async () => {
    const { params } = (await socket.next()) as Notification;
    return (params.result as { fields: Record<string, unknown> }).fields.event === event;
  });
}

/** A PostgreSQL of the story's own is started, stopped and started again, which takes a busy machine long. */
const ownPostgresMs = 60_000;

test(
  "a lost PostgreSQL is told once, answered alike everywhere, and its return is noticed without traffic",
  async () => {
    await using postgres = await stoppablePostgres();
    await using node = await testNode({
      databaseUrl: postgres.url,
      logging,
      databaseKeys: "stale_seconds = 0\n",
    });
    const { superToken: token } = node;
    await node.call("static-bucket_create", [token, "site", "site", true]);
    await node.call("static-bucket-file_upload", [token, "site", "a.txt", "hello"]);
    await using socket = await openSocket(node.url);
    const { result } = await socket.call("node-server_stream_log", { token, log_filter: "info" });
    expect(result).toBeString();

    await postgres.halt();
    // What is known of the buckets is believed for a second.
    await until("static files need the database", async () =>
      (await fetch(`${node.url}/node/static/site/a.txt`)).status === 503 ? true : undefined,
    );
    for (let round = 0; round < 3; round += 1) {
      const { statuses, texts, errors } = await answersOf(node, token);
      expect(statuses).toEqual(Array(6).fill([503, "5"]));
      for (const error of errors)
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
      expect(texts.join("") + JSON.stringify(errors)).not.toMatch(/127\.0\.0\.1|postgres|Failed|ECONN/i);
      expect(await node.call("node-server_hello")).toBe("Node Server Is Running!");
      expect((await fetch(`${node.url}/node/health`)).status).toBe(200);
      await untilMissing(node, "database");
    }
    await hears(node, [lost]);
    const [line] = node.node.ring.entries().filter(({ fields }) => fields.event === "database.lost");
    expect(line?.fields).toMatchObject({
      database: postgres.url.replace(/^.*@/, ""),
      reason: expect.any(String),
    });
    // The stream was told too, and lives on.
    await heard(socket, "database.lost");

    await postgres.resume();
    await hears(node, [lost, restored]);
    await heard(socket, "database.restored");
    expect(await (await fetch(`${node.url}/node/static/site/a.txt`)).text()).toBe("hello");
    expect(await node.call("token_get", { token })).toMatchObject({ username: "root" });
    await untilMissing(node);
    const of = await metricsOf(node);
    expect(of('node_server_component_losses_total{component="database"}')).toBe(1);
    expect(of('node_server_database_errors_total{source="server",reason="unavailable"}')).toBeGreaterThan(0);
    expect(node.node.ring.entries().filter(({ level }) => level === "ERROR")).toHaveLength(1);
  },
  ownPostgresMs,
);

test(
  "a server that nobody asks notices the loss by itself, and each loss is told",
  async () => {
    await using postgres = await stoppablePostgres();
    await using node = await testNode({ databaseUrl: postgres.url, logging });
    await postgres.halt();
    await hears(node, [lost]);
    await postgres.resume();
    await hears(node, [lost, restored]);
    await postgres.halt();
    await node.refused("token_get", { token: node.superToken });
    await hears(node, [lost, restored, lost]);
  },
  ownPostgresMs,
);

test("connections that are cut are no lost database: nothing is told while new ones can be made", async () => {
  await using node = await testNode({ database: "postgres", logging });
  await using outside = new SQL({ url: node.databaseUrl, max: 1 });
  const ask = () => node.send("token_get", { token: node.superToken });
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([ask(), ask(), ask()]);
    await outside.unsafe(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    await until("calls succeed again", async () => ((await ask()).error === undefined ? true : undefined));
  }
  expect(eventsOf(node)).toEqual([]);
});

test(
  "a server stops at once while its database is lost",
  async () => {
    await using postgres = await stoppablePostgres();
    const node = await testNode({ databaseUrl: postgres.url, logging });
    await postgres.halt();
    await node.refused("token_get", { token: node.superToken });
    await hears(node, [lost]);
    await node[Symbol.asyncDispose]();
  },
  ownPostgresMs,
);

const open = (database_url: string) =>
  openDatabase(settingsFor(database_url), new LogHub(), { create: true });

test("a start says why PostgreSQL cannot be used, which database it is, and what to do", async () => {
  const why = (url: string) => open(url).then(String, (error: unknown) => String(error));
  expect(await why("postgres://someone:hunter2@no-such-host.invalid:5432/shop")).toMatch(
    /PostgreSQL at no-such-host\.invalid:5432\/shop cannot be reached: the host name no-such-host\.invalid cannot be resolved .*database_url/,
  );
  expect(await why("postgres://someone:hunter2@127.0.0.1:1/shop")).toMatch(
    /PostgreSQL at 127\.0\.0\.1:1\/shop cannot be reached: nothing accepts connections there .*database_url/,
  );
  const place = await newPostgresDatabase();
  await using outside = new SQL({ url: place.url, max: 1 });
  await outside.unsafe("CREATE ROLE \"reader\" LOGIN PASSWORD 'hunter2'");
  const refusal = await why(place.url.replace("postgres@", "reader:hunter2@"));
  expect(refusal).toMatch(
    /PostgreSQL at 127\.0\.0\.1:\d+\/t_\w+ is empty, and reader may not create tables in it; run `GRANT CREATE ON SCHEMA public TO reader` as its owner/,
  );
  expect(refusal).not.toContain("hunter2");
  await outside.unsafe('DROP ROLE "reader"');
  await outside.close();
  await place.drop();
});

test("an empty database whose encoding is not UTF8 is refused, and one in use is not", async () => {
  const url = await postgresUrl();
  const name = `t_${crypto.randomUUID().replaceAll("-", "")}`;
  await administrate(url, `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
  const settings = settingsFor(`${url}/${name}`);
  const refusal =
    /t_\w+ has the encoding LATIN1, .*; create the database with ENCODING 'UTF8' TEMPLATE template0$/;
  await expect(probeDatabase(settings, new LogHub())).rejects.toThrow(refusal);
  await expect(open(settings.database_url)).rejects.toThrow(refusal);
  // A server that uses it already must still start after an update.
  {
    await using outside = new SQL({ url: settings.database_url, max: 1 });
    await outside.unsafe("CREATE TABLE seaql_migrations (version text, applied_at bigint)");
  }
  await (await open(settings.database_url)).close();
  await administrate(url, `DROP DATABASE ${name} WITH (FORCE)`);
});

test("statements that fail while a loss is looked into add no second line to the log", async () => {
  const hub = new LogHub();
  const lines: string[] = [];
  hub.attach({ filter: parseFilter("trace"), write: ({ message }) => lines.push(message) });
  const why = Promise.withResolvers<string>();
  const probe = {
    connect: () => Promise.reject(new Error("refused")),
    why: () => why.promise,
    location: "here",
  };
  const reachability = new Reachability(probe, hub.logger("sqlx"), systemClock);
  const fail = () =>
    reachability.observe(() => Promise.reject(unavailable(new Error("cut")))).catch(() => {});
  for (let call = 0; call < 5; call += 1) {
    await fail();
    // Whatever a failure starts has come as far as it can.
    await new Promise((resolve) => setImmediate(resolve));
  }
  why.resolve("nothing listens there");
  await until("the loss is told", () => (lines.length > 0 ? true : undefined));
  reachability.close();
  expect(lines).toHaveLength(1);
});
