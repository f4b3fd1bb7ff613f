import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterView } from "../../src/cluster/roster.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

/** The interval of the product. */
const heartbeatMs = 10_000;
const logging = 'memory_log_filter = "info"\nmemory_log_capacity = 1000\n';

async function viewOf({ call }: TestNode, token: string): Promise<ClusterView> {
  return (await call("cluster_nodes", { token })) as ClusterView;
}

/** Codes of the warnings in a node's log. */
function warned({ node }: TestNode): unknown[] {
  return node.ring
    .entries()
    .flatMap(({ fields }) => (/^nodes\./.test(String(fields.event)) ? [fields.event] : []));
}

/** Another node on the database and the files of the first. */
function nodeBeside(first: TestNode, options: Parameters<typeof testNode>[0] = {}): Promise<TestNode> {
  return testNode({ databaseUrl: first.databaseUrl, files: first.files, logging, ...options });
}

eachDatabase("a server alone lists itself, and has one row", async (database) => {
  await using node = await testNode({ database, top: 'node_name = "one"\n' });
  const { answered_by, nodes, warnings } = await viewOf(node, node.superToken);
  const uuid = (await node.call("node-server_uuid")) as string;
  expect(nodes).toEqual([
    {
      uuid,
      boot: answered_by.boot,
      name: "one",
      url: node.url,
      version: expect.any(String),
      since: expect.any(Number),
      last_seen: expect.any(Number),
      alive: true,
      ready: true,
      files: "disk",
      processes: 1,
    },
  ]);
  expect([answered_by.uuid, warnings]).toEqual([uuid, []]);
  const rows = async () => {
    const sql = "SELECT key FROM kv WHERE namespace = 'nodes'";
    const { data } = (await node.call("node-server_exec_sql", [node.superToken, sql])) as { data: unknown[] };
    return data;
  };
  expect(await rows()).toEqual([{ key: `${uuid}/${answered_by.boot}` }]);
});

test("on SQLite, where nobody else can be, a start removes what a killed server left, and a stop its own row", async () => {
  await using node = await testNode({ database: "sqlite" });
  const file = join(node.folder, "data", "node.db");
  const keys = () => {
    using rows = new SqliteFile(file);
    return rows.query("SELECT key FROM kv WHERE namespace = 'nodes'").all();
  };
  const { uuid, boot } = (await viewOf(node, node.superToken)).answered_by;
  const own = { key: `${uuid}/${boot}` };
  await node.sql(`INSERT INTO kv (namespace, key, value)
    SELECT 'nodes', '${uuid}/left', json_set(value, '$.boot', '0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10') FROM kv WHERE namespace = 'nodes'`);
  expect(keys()).toHaveLength(2);
  await node.node.reload();
  await until("the other row is gone", () => keys().length === 1);
  expect(keys()).toEqual([own]);
  await node.node.close();
  expect(keys()).toEqual([]);
});

test("only a token that may read nodes lists them", async () => {
  await using node = await testNode();
  const other = await node.newToken([{ scopes: ["global"], permissions: [{ node: "metrics" }] }]);
  expect(await node.refused("cluster_nodes", { token: other })).toMatchObject({
    code: 102,
    message: expect.stringContaining("Node::ReadNodes"),
  });
  const token = await node.newToken([{ scopes: ["global"], permissions: [{ node: "read_nodes" }] }]);
  expect((await viewOf(node, token)).nodes).toHaveLength(1);
});

test("nodes that come, change, drain, leave and are killed are seen by the others", async () => {
  const clock = new ManualClock();
  await using one = await testNode({
    store: "objects over postgres",
    clock,
    logging,
    top: 'node_name = "one"\n',
  });
  const token = one.superToken;
  const seen = async (from: TestNode) =>
    (await viewOf(from, token)).nodes.map(({ name, url, alive, ready }) => [name, url, alive, ready]);
  {
    await using two = await nodeBeside(one, { top: 'node_name = "two"\n' });
    const both = [
      ["one", one.url, true, true],
      ["two", two.url, true, true],
    ];
    for (const node of [one, two])
      await until("both are listed", async () => Bun.deepEquals(await seen(node), both));
    expect((await viewOf(two, token)).answered_by.uuid).toBe((await two.call("node-server_uuid")) as string);
    expect([warned(one), warned(two)]).toEqual([[], []]);

    const text = await readFile(two.configPath, "utf8");
    await writeFile(
      two.configPath,
      `node_url = "https://two.example.com:8443/"\n${text.replace("two", "zwei")}`,
    );
    expect(await two.node.reload()).toBe("applied");
    await until("one sees the new name", async () =>
      Bun.deepEquals((await seen(one))[1], ["zwei", "https://two.example.com:8443", true, true]),
    );

    two.node.startDraining();
    await until("one sees that two drains", async () => (await seen(one))[1]?.[3] === false);
    expect((await fetch(`${two.url}/node/ready`)).status).toBe(503);
    expect(await seen(two)).toHaveLength(2);
  }
  const alone = [["one", one.url, true, true]];
  await until("two has left", async () => Bun.deepEquals(await seen(one), alone));

  // A node that was killed and never came back, and one that did not for a day.
  const dead = (
    at: string,
  ) => `jsonb_build_object('boot', '0b6c9c0e-6d0c-4a86-8a55-2f4f7f1f6f10', 'name', 'dead', 'url', null, 'version', '1.0.0',
    'since', 1, 'at', cast(extract(epoch from now()) * 1000 as bigint) - ${at}, 'ready', true, 'files', 'disk', 'beat', '1')`;
  await one.sql(
    `INSERT INTO kv (namespace, key, value) VALUES
      ('nodes', '11111111-1111-4111-8111-111111111111/x', ${dead("120000")}),
      ('nodes', '22222222-2222-4222-8222-222222222222/x', ${dead("90000000")}),
      ('nodes', '33333333-3333-4333-8333-333333333333/x', '{"name": "\\u001b[2J"}'),
      ('nodes', 'nonsense', '[]')`,
  );
  await clock.until(
    "the row of the one that was away for a day is removed",
    heartbeatMs,
    async () => (await seen(one)).length === 2,
  );
  expect(await seen(one)).toEqual([
    ["dead", null, false, false],
    ["one", one.url, true, true],
  ]);
  expect(warned(one)).toEqual([]);
});

test("a second node on plain files, and the same UUID twice, are warned about once, until it is over", async () => {
  const uuid = "65d0b837-40a7-49e0-89e1-bba14a18b59f";
  const top = `server_uuid = "${uuid}"\n`;
  const clock = new ManualClock();
  await using one = await testNode({ database: "postgres", clock, logging, top });
  const token = one.superToken;
  const codes = async (from: TestNode) => (await viewOf(from, token)).warnings.map(({ event }) => event);
  const health = async ({ url }: TestNode) =>
    ((await (await fetch(`${url}/node/health`)).json()) as { warnings?: string[] }).warnings;
  const both: ["nodes.same_uuid", "nodes.files_not_shared"] = ["nodes.same_uuid", "nodes.files_not_shared"];
  {
    await using two = await nodeBeside(one, { top, clock });
    for (const node of [one, two]) {
      await clock.until("both warn", heartbeatMs, () => warned(node).length === 2);
      expect(warned(node)).toEqual(both);
      expect(await codes(node)).toEqual(both);
      expect(await health(node)).toEqual(both);
    }
    expect((await viewOf(one, token)).nodes).toHaveLength(2);
  }
  await until("nothing is wrong any more", async () => (await codes(one)).length === 0);
  await clock.until("the health is good again", heartbeatMs, async () => (await health(one)) === undefined);
  {
    await using three = await nodeBeside(one);
    await clock.until("it is another occurrence", heartbeatMs, () => warned(one).length === 3);
    expect(warned(one).at(-1)).toBe("nodes.files_not_shared");
    await until("three warns, too", async () =>
      Bun.deepEquals(await codes(three), ["nodes.files_not_shared"]),
    );
  }
});

test("a node moves its row to another database and another UUID by a reload, and leaves none behind", async () => {
  await using one = await testNode({ store: "objects over postgres" });
  await using two = await nodeBeside(one);
  const token = one.superToken;
  const uuids = async () => (await viewOf(one, token)).nodes.map(({ uuid }) => uuid).sort();
  await until("both are listed", async () => (await uuids()).length === 2);
  const moved = "11111111-1111-4111-8111-111111111111";
  const text = await readFile(two.configPath, "utf8");
  await writeFile(two.configPath, `server_uuid = "${moved}"\n${text}`);
  await two.node.reload();
  // The new row is written before the old one is deleted, so that the node is always listed.
  await until("the UUID has changed, and the old row is gone", async () => {
    const now = await uuids();
    return now.includes(moved) && now.length === 2;
  });
  // The same database, opened anew: the row stays.
  await writeFile(two.configPath, `server_uuid = "${moved}"\nsync_uploads = false\n${text}`);
  await two.node.reload();
  const { boot } = (await viewOf(two, token)).answered_by;
  expect((await viewOf(one, token)).nodes.some((node) => node.boot === boot)).toBe(true);
});

test("a process that takes the place of another has the row when that one leaves, and siblings are one node", async () => {
  // No heartbeat repairs what is wrong.
  const clock = new ManualClock();
  await using one = await testNode({
    store: "objects over postgres",
    clock,
    cluster: { process: 0 },
    logging,
  });
  const token = one.superToken;
  const { uuid, boot } = (await viewOf(one, token)).answered_by;
  const top = `server_uuid = "${uuid}"\n`;
  await using sibling = await nodeBeside(one, { top, clock, cluster: { boot, process: 1 } });
  const keys = async () =>
    (
      (await sibling.call("node-server_exec_sql", [
        token,
        "SELECT key, value ->> 'since' AS since FROM kv WHERE namespace = 'nodes' ORDER BY key",
      ])) as { data: Array<{ key: string; since: string }> }
    ).data;
  const processes = async (from: TestNode) =>
    (await viewOf(from, token)).nodes.map((node) => [node.uuid, node.processes]);
  const both = [[uuid, 2]];
  await until("both are one node", async () => Bun.deepEquals(await processes(one), both));
  const [first, before] = await keys();
  await using next = await nodeBeside(one, { top, clock: new ManualClock(), cluster: { boot, process: 0 } });
  await until("the next one has the row", async () => (await keys())[0]?.since !== first?.since);
  await one.node.close();
  const nodes = (await viewOf(next, token)).nodes;
  expect(nodes).toMatchObject([{ uuid, processes: 2 }]);
  expect(await keys()).toEqual([expect.objectContaining({ key: `${uuid}/${boot}/0` }), before]);
  expect([warned(one), warned(sibling), warned(next)]).toEqual([[], [], []]);
});

test("a node whose row cannot be written goes on serving, says why once, and is listed again afterwards", async () => {
  const clock = new ManualClock();
  await using one = await testNode({ store: "objects over postgres", logging });
  await using two = await nodeBeside(one, { clock });
  const token = one.superToken;
  const name = new URL(one.databaseUrl).pathname.slice(1);
  const events = () =>
    two.node.ring
      .entries()
      .flatMap(({ fields }) => (/^database\.write/.test(String(fields.event)) ? [fields.event] : []));
  const setReadOnly = async (value: "on" | "off") => {
    await one.sql(
      `BEGIN READ WRITE; ALTER DATABASE "${name}" SET default_transaction_read_only = ${value}; COMMIT`,
    );
    // For connections from now on.
    await one.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
  };
  await setReadOnly("on");
  await clock.until("the heartbeat fails", heartbeatMs, () => events().length === 1);
  expect(events()).toEqual(["database.write_failed"]);
  expect(await two.call("node-server_hello")).toBe("Node Server Is Running!");
  const { nodes, answered_by } = await viewOf(two, token);
  expect(nodes.filter(({ uuid }) => uuid === answered_by.uuid)).toMatchObject([{ alive: true }]);
  await setReadOnly("off");
  await clock.until("the heartbeat is written again", heartbeatMs, () => events().length === 2);
  expect(events()[1]).toBe("database.write_restored");
});
