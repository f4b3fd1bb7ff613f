import { expect, test } from "bun:test";
import type { ResultOf } from "../../src/client/index.ts";
import { openDatabase } from "../../src/db/database.ts";
import { type HookSettings, Hooks } from "../../src/hooks/hooks.ts";
import { LogHub } from "../../src/log/hub.ts";
import { errorOf, loggedIn } from "../support/cli.ts";
import { settingsFor } from "../support/database-settings.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, eachStore, tempFolder, testNode } from "../support/node.ts";
import { migratedDatabase } from "../support/node-database.ts";
import { story } from "../support/process.ts";
import { leftToAll } from "../support/tier.ts";
import { until } from "../support/until.ts";
import { hookTable, webhookReceiver, webhookSecret } from "../support/webhooks.ts";

type Webhook = ResultOf<"hooks_list">[number];

async function home(kind: Parameters<typeof migratedDatabase>[0]) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const { url, drop } = await migratedDatabase(kind, folder.path);
  stack.defer(drop);
  const clock = new ManualClock();
  const logged: unknown[] = [];
  const hub = new LogHub(undefined, clock);
  const database = await openDatabase(settingsFor(url), hub, { create: false, clock });
  stack.defer(() => database.close());
  const open = (...settings: Partial<HookSettings>[]) => {
    const hooks = new Hooks({
      acquire: () => ({ database, release() {} }),
      log: hub.logger("server"),
      clock,
    });
    hooks.apply(
      settings.map((one) => ({ url: "", secret: webhookSecret, events: ["*"], buckets: undefined, ...one })),
    );
    return Object.assign(hooks, { [Symbol.asyncDispose]: () => hooks.close() });
  };
  const add = async (hooks: Hooks, path: string, bucket = "site") => {
    await hooks.add(database, [{ type: "file.created", data: { bucket, path } }], { bucket });
    hooks.wake();
  };
  return { database, clock, open, add, logged, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const arrival = (to: ReturnType<typeof webhookReceiver>, count: number) =>
  until(`${count} came`, () => to.deliveries.length === count);

eachDatabase("events come signed, in order and once, to the webhooks that want them", async (kind) => {
  await using one = webhookReceiver();
  await using other = webhookReceiver();
  await using at = await home(kind);
  await using hooks = at.open({ url: one.url, buckets: ["site"] }, { url: other.url, events: ["deploy.*"] });
  // Another node sends to the same webhooks.
  await using twin = at.open({ url: one.url }, { url: other.url });
  for (const path of ["a", "b", "c"]) await at.add(hooks, path);
  await at.add(hooks, "d", "private");
  await until("all came", () => {
    hooks.wake();
    twin.wake();
    return one.deliveries.length >= 3;
  });
  expect(one.deliveries.map(({ type, data }) => [type, data.path])).toEqual([
    ["file.created", "a"],
    ["file.created", "b"],
    ["file.created", "c"],
  ]);
  expect(new Set(one.deliveries.map(({ id }) => id)).size).toBe(3);
  expect(other.deliveries).toEqual([]);
  const [report] = await hooks.list(at.database);
  expect(report?.url).not.toContain("secret");
});

eachDatabase(
  "a receiver that fails, hangs or sends elsewhere gets the event later, also after a restart",
  async (kind) => {
    await using to = webhookReceiver();
    await using at = await home(kind);
    const first = at.open({ url: to.url });
    const problem = async () => (await first.list(at.database))[0]?.state.problem;
    for (const [status, reason] of [
      [503, "status"],
      [302, "redirect"],
      [0, "timeout"],
    ] as const) {
      to.state.status = status;
      const before = to.requests.length;
      await first.test(at.database, (await first.list(at.database))[0]?.id ?? "");
      await until("it was asked", () => to.requests.length > before);
      if (status === 0) await at.clock.jump(10_000);
      await until(reason, async () => (await problem())?.reason === reason);
    }
    expect(to.requests.every(({ url }) => url === to.url)).toBe(true);
    expect((await first.list(at.database))[0]).toMatchObject({ waiting: 3, state: { delivered: 0 } });
    await first.close();
    to.state.status = 204;
    await at.clock.jump(3600_000);
    await using second = at.open({ url: to.url });
    await until("all came", () => to.deliveries.length === 3);
    expect(new Set(to.deliveries.map(({ type }) => type))).toEqual(new Set(["hook.test"]));
    await until("all are gone", async () => (await second.list(at.database))[0]?.waiting === 0);
  },
);

eachDatabase("an event that the receiver refuses for good does not hold up those behind it", async (kind) => {
  await using to = webhookReceiver();
  await using at = await home(kind);
  await using hooks = at.open({ url: to.url });
  to.state.status = 422;
  await at.add(hooks, "refused");
  for (const failures of [1, 2]) {
    await until("it failed", async () => (await hooks.list(at.database))[0]?.state.failures === failures);
    await at.clock.jump(20_000);
    hooks.wake();
  }
  await until("it is given up", async () => (await hooks.list(at.database))[0]?.state.lost === 1);
  to.state.status = 200;
  await at.add(hooks, "next");
  await until("the next came", () => to.deliveries.length === 1);
  expect(to.deliveries[0]?.data.path).toBe("next");
  const [id = "", counts] = hooks.counts[0] ?? [];
  await until("it is counted", () => counts?.delivered === 1 && counts.failures === 0);
  expect([id, counts]).toEqual([
    (await hooks.list(at.database))[0]?.id ?? "",
    { waiting: 0, failures: 0, delivered: 1, lost: 1 },
  ]);
});

eachDatabase("the events of a process that died while it sent are sent within a minute", async (kind) => {
  await using to = webhookReceiver();
  await using at = await home(kind);
  await using hooks = at.open({ url: to.url });
  const [report] = await hooks.list(at.database);
  const until = at.clock.now() + 60_000;
  await at.database.hooks.change(report?.id ?? "", (state) => ({ ...state, holder: "it died", until }));
  await at.add(hooks, "held up");
  await at.clock.jump(59_000);
  expect(to.requests).toEqual([]);
  await at.clock.jump(1000);
  hooks.wake();
  await arrival(to, 1);
  expect(to.deliveries[0]?.data.path).toBe("held up");
});

leftToAll(test)("events that find the queue full are counted as lost", async () => {
  await using to = webhookReceiver();
  await using at = await home("sqlite");
  to.state.status = 503;
  await using hooks = at.open({ url: to.url });
  await at.add(hooks, "first");
  await until("it failed", async () => (await hooks.list(at.database))[0]?.state.failures === 1);
  const event = { type: "file.created", data: { bucket: "site", path: "more" } } as const;
  await at.database.transact((transaction) =>
    hooks.add(at.database, Array<typeof event>(10_002).fill(event), { bucket: "site", transaction }),
  );
  expect(hooks.counts[0]?.[1]).toMatchObject({ waiting: 10_000, lost: 3 });
  await at.clock.jump(20_000);
  await until("it is noted", async () => (await hooks.list(at.database))[0]?.state.lost === 3);
  expect((await hooks.list(at.database))[0]).toMatchObject({ waiting: 10_000, state: { failures: 2 } });
});

eachStore("a server sends what changes in its buckets, and a reload changes to whom", async (options) => {
  await using to = webhookReceiver();
  await using node = await testNode(options);
  const { superToken: token } = node;
  await node.call("static-bucket_create", { token, name: "site" });
  const table = hookTable(to.url, ["file.*", "deploy.published"]);
  const text = await Bun.file(node.configPath).text();
  await Bun.write(node.configPath, text + table);
  await node.node.reload();
  await node.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "1" });
  await node.call("static-bucket-file_delete", { token, name: "site", path: "a.txt" });
  const { deploy } = (await node.call("static-bucket_deploy_begin", { token, name: "site" })) as {
    deploy: string;
  };
  await node.call("static-bucket_deploy_publish", { token, name: "site", deploy });
  await until("all came", () => to.deliveries.length === 3);
  expect(to.deliveries.map(({ type, data }) => ({ ...data, type }) as object)).toEqual([
    { type: "file.created", bucket: "site", path: "a.txt", by: "root" },
    { type: "file.deleted", bucket: "site", path: "a.txt", by: "root" },
    { type: "deploy.published", bucket: "site", deploy, by: "root" },
  ]);
  const metric = (name: string) => {
    const family = node.node.families.find((one) => one.name === `node_server_webhook_${name}`);
    return [...(family?.samples() ?? [])].map(({ value }) => value);
  };
  await until("all are counted", () => Bun.deepEquals(metric("delivered_events_total"), [3]));
  expect([metric("failures"), metric("lost_events_total")]).toEqual([[0], [0]]);
  await Bun.write(node.configPath, text);
  await node.node.reload();
  expect(await node.call("hooks_list", { token })).toEqual([]);
  expect(metric("delivered_events_total")).toEqual([]);
});

leftToAll(story)(
  "`hooks` lists the webhooks, and `hooks test` sends an event, also after failures",
  async () => {
    await using to = webhookReceiver();
    await using scene = await loggedIn();
    const { node, user } = scene;
    expect((await user.run(["hooks"])).stderr).toContain("docs/hooks.md");
    await Bun.write(node.configPath, (await Bun.file(node.configPath).text()) + hookTable(to.url));
    await node.node.reload();
    const listed = async () => (JSON.parse(await user.does(["hooks", "--json"])) as [Webhook])[0];
    const { hook } = await listed();
    to.state.status = 422;
    await user.does(["hooks", "test", hook]);
    await until("the refusal is shown", async () => (await listed()).problem?.status === 422);
    expect(await user.does(["hooks"])).toMatch(new RegExp(`${hook}\\t.*\\t1\\t0\\t0\\t.*\\tstatus 422`));
    to.state.status = 200;
    await user.does(["hooks", "test", hook]);
    await arrival(to, 2);
    expect(to.deliveries.map(({ type }) => type)).toEqual(["hook.test", "hook.test"]);
    await until("it is counted", async () => (await listed()).delivered === 2);
    expect(await user.does(["hooks"])).not.toContain("path-that-is-secret");
    const unknown = await user.run(["hooks", "test", "000000000000", "--json"]);
    expect([unknown.code, errorOf(unknown)]).toEqual([1, expect.objectContaining({ field: "hook" })]);
  },
);
