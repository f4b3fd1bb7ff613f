import { expect, test } from "bun:test";
import { LogJoin } from "../../src/client/log-join.ts";
import type { LogEntry } from "../../src/client/methods.ts";
import { openDatabase } from "../../src/db/database.ts";
import { timedKey } from "../../src/db/rows/memory-rows.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { metricsOf } from "../support/metrics.ts";
import { eachDatabase, newDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";

interface Entry {
  readonly id: string;
  readonly node: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

type Filter = Readonly<Record<string, unknown>>;

async function trailOf({ call }: TestNode, token: string, filter: Filter = {}): Promise<Entry[]> {
  return (await call("audit_list", { token, ...filter })) as Entry[];
}

const codes = (entries: readonly Entry[]) => entries.map(({ fields }) => fields.event);

/** A server whose database, identity and clock the next start has, too. */
function startOf(
  first: TestNode,
  { clock, top }: { readonly clock: ManualClock; readonly top: string },
): Promise<TestNode> {
  return testNode({ databaseUrl: first.databaseUrl, files: first.files, clock, top, logging });
}

const minuteMs = 60_000;
const logging = 'memory_log_filter = "info"\n';

eachDatabase(
  "a restart keeps the audit trail, the last warnings and the metrics with a gap",
  async (database) => {
    const clock = new ManualClock();
    const top = `server_uuid = "${crypto.randomUUID()}"\nnode_name = "one"\n`;
    await using first = await testNode({ database, clock, top, logging });
    const token = first.superToken;
    await first.call("static-bucket_create", { token, name: "site" });
    await first.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "x" });
    first.node.hub
      .logger("server")
      .event("blob.missing", "a blob is missing", { bucket: "site", path: "a", blob: "b" });
    const warned = async (node: TestNode) =>
      (await node.call("log_list", { token, log_filter: "error" })) as LogEntry[];
    const join = new LogJoin();
    const [warning] = join.mergeMemory(await warned(first)).fresh;
    await clock.advance(5 * minuteMs);
    const before = await trailOf(first, token);
    {
      using _running = clock.run();
      await first.node.close();
    }
    clock.set(clock.now() + 10 * minuteMs);

    await using second = await startOf(first, { clock, top });
    expect(await trailOf(second, token)).toEqual(before);
    expect(codes(before)).toEqual(["bucket.created", "file.written"]);
    expect(before.map(({ node }) => node)).toEqual(["one", "one"]);
    const again = await warned(second);
    expect(again[0]).toEqual(warning as LogEntry);
    expect(again[0]?.fields.event).toBe("blob.missing");
    // Whoever followed the log reads nothing twice.
    expect(join.mergeMemory(again.slice(0, 1)).fresh).toEqual([]);
    await clock.advance(2 * minuteMs);
    const { history } = (await second.call("node-server_metrics", { token, series: ["resident_bytes"] })) as {
      history: Array<{ step_seconds: number; series: { resident_bytes: Array<number | null> } }>;
    };
    const shapeOf = (step: number) =>
      history
        .find(({ step_seconds }) => step_seconds === step)
        ?.series.resident_bytes.map((value) => (value === null ? "-" : "x"))
        .join("")
        .replace(/^-+/, "");
    // Ten minutes are missing; a busy machine misses a step elsewhere.
    expect(shapeOf(60)).toMatch(/x-{9,13}x/);
    expect(shapeOf(10)).toMatch(/x-{57,80}x/);
    expect(await second.call("node-server_status", { token })).toMatchObject({ crashed: false });
  },
);

eachDatabase(
  "a server that was killed says so at its next start, and one that was stopped does not",
  async (database) => {
    const clock = new ManualClock();
    const uuid = crypto.randomUUID();
    const top = `server_uuid = "${uuid}"\n`;
    await using first = await testNode({ database, clock, top });
    const token = first.superToken;
    const crashed = async (node: TestNode) => [
      ((await node.call("node-server_status", { token })) as { crashed: boolean }).crashed,
      ((await (await fetch(`${node.url}/node/health`)).json()) as { crashed?: boolean }).crashed ?? false,
      (await metricsOf({ url: node.url, superToken: token }))("node_server_crashed") === 1,
    ];
    expect(await crashed(first)).toEqual([false, false, false]);
    // What a kill leaves behind.
    await first.sql("CREATE TABLE left_row AS SELECT * FROM kv WHERE namespace = 'nodes'");
    {
      using _running = clock.run();
      await first.node.close();
    }
    await first.sql("INSERT INTO kv (namespace, key, value) SELECT namespace, key, value FROM left_row");
    // On PostgreSQL another node might have the same UUID, until the row is a minute old.
    if (database === "postgres")
      await first.sql("UPDATE kv SET value = jsonb_set(value, '{at}', '1') WHERE namespace = 'nodes'");
    await using second = await startOf(first, { clock, top });
    await clock.until("the crash is known", 10_000, async () => (await crashed(second)).every(Boolean));
    {
      using _running = clock.run();
      await second.node.close();
    }
    await using third = await startOf(first, { clock, top });
    expect(await crashed(third)).toEqual([false, false, false]);
    await third.sql("DROP TABLE left_row");
  },
);

test("the audit trail is read in pages and by filters, counts many files once, and holds no secret", async () => {
  await using node = await testNode({ top: 'node_name = "one"\n' });
  const token = node.superToken;
  const limits = [{ scopes: ["global"], permissions: [{ static_bucket_file: "write" }] }];
  const other = await node.newToken(limits, { username: "alice", password: "a long password" });
  await node.call("static-bucket_create", { token, name: "site" });
  await node.call("static-bucket_create", { token, name: "docs" });
  for (let file = 0; file < 30; file += 1)
    await node.call("static-bucket-file_upload", {
      token: other,
      name: "site",
      path: `${file}.txt`,
      body: "content",
    });
  await node.refused("token_get", { token: "alice|a wrong password" });

  const all = await trailOf(node, token);
  expect(codes(all).filter((code) => code === "file.written")).toHaveLength(21);
  expect(all.find(({ fields }) => fields.count === 10)).toBeDefined();
  const pages: Entry[][] = [];
  for (let before: string | undefined; ; before = pages[0]?.[0]?.id) {
    const page = await trailOf(node, token, { limit: 10, before });
    pages.unshift(page);
    if (page.length < 10) break;
  }
  expect(pages.flat()).toEqual(all);
  expect(codes(await trailOf(node, token, { events: ["bucket", "token.created"] }))).toEqual([
    "token.created",
    "bucket.created",
    "bucket.created",
  ]);
  expect(await trailOf(node, token, { bucket: "docs" })).toHaveLength(1);
  expect(await trailOf(node, token, { by: [other.split(":")[0]] })).toHaveLength(21);
  expect(codes(await trailOf(node, token, { text: "ALICE wrong" }))).toEqual([]);
  expect(codes(await trailOf(node, token, { by: ["alice"] }))).toEqual(["sign_in.failed"]);
  expect(await trailOf(node, token, { since: Date.now() + 1000 })).toEqual([]);
  const text = JSON.stringify(all);
  for (const secret of [
    token.split(":")[1],
    other.split(":")[1],
    "a long password",
    "a wrong password",
    "content",
  ])
    expect(text).not.toContain(secret ?? "");
  const reader = await node.newToken([{ scopes: ["global"], permissions: [{ node: "metrics" }] }]);
  expect((await node.refused("audit_list", { token: reader })).data.kind).toBe("PermissionDenied");
});

eachDatabase("the audit trail loses its oldest entries first: by age, number and bytes", async (kind) => {
  await using folder = await tempFolder();
  const place = await newDatabase(kind, folder.path);
  const database = await openDatabase(settingsFor(place.url), new LogHub(), { create: true });
  const { audit } = database.memory;
  const keys = Array.from({ length: 10 }, (_, at) => timedKey(at, "x"));
  await audit.write(new Map(keys.map((key) => [key, "0123456789"])));
  const left = async () => (await audit.newest({ max: 100 })).map(({ key }) => key);
  const [large, second = ""] = [1_000_000, keys[1]];
  await audit.trim({ before: second, maxRows: large, maxBytes: large });
  expect(await left()).toEqual(keys.slice(1).reverse());
  await audit.trim({ before: "", maxRows: 4, maxBytes: large });
  expect(await left()).toEqual(keys.slice(-4).reverse());
  await audit.trim({ before: "", maxRows: large, maxBytes: 5 });
  expect(await left()).toEqual([]);

  const [coarse, fine] = [timedKey(1, "/60"), timedKey(1, "/10")];
  await database.memory.metrics("a").write(
    new Map([
      [coarse, {}],
      [fine, {}],
      [timedKey(3, "/10"), {}],
    ]),
  );
  await database.memory.forgetSteps("/10", timedKey(2, ""));
  const kept = await database.memory.metrics("a").newest({ max: 9 });
  expect(kept.map(({ key }) => key)).toEqual([timedKey(3, "/10"), coarse]);
  await database.close();
  await place.drop();
});
