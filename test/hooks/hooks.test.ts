import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { openDatabase } from "../../src/db/database.ts";
import { type HookSettings, Hooks } from "../../src/hooks/hooks.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, eachStore, tempFolder, testNode } from "../support/node.ts";
import { migratedDatabase } from "../support/node-database.ts";
import { leftToAll } from "../support/tier.ts";
import { until } from "../support/until.ts";

const secret = "a-secret-of-the-story-that-is-long-enough";

interface Delivery {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A program that gets events: it answers with `status`, or not at all while that is 0. */
function receiver() {
  const deliveries: Delivery[] = [];
  const requests: Request[] = [];
  const state = { status: 200 };
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      requests.push(request);
      const body = await request.text();
      const { status } = state;
      if (status === 0) await new Promise(() => {});
      if (status < 300) {
        const [id, at] = [request.headers.get("webhook-id"), request.headers.get("webhook-timestamp")];
        const signature = createHmac("sha256", secret).update(`${id}.${at}.${body}`).digest("base64");
        expect(request.headers.get("webhook-signature")).toBe(`v1,${signature}`);
        deliveries.push(JSON.parse(body) as Delivery);
      }
      const headers = status === 302 ? { location: "/elsewhere" } : {};
      return new Response("", { status, headers });
    },
  });
  const url = `http://127.0.0.1:${server.port}/hook/path-that-is-secret`;
  return {
    url,
    state,
    deliveries,
    requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

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
    hooks.apply(settings.map((one) => ({ url: "", secret, events: ["*"], buckets: undefined, ...one })));
    return Object.assign(hooks, { [Symbol.asyncDispose]: () => hooks.close() });
  };
  const add = async (hooks: Hooks, path: string, bucket = "site") => {
    await hooks.add(database, [{ type: "file.created", data: { bucket, path } }], { bucket });
    hooks.wake();
  };
  return { database, clock, open, add, logged, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

eachDatabase("events come signed, in order and once, to the webhooks that want them", async (kind) => {
  await using one = receiver();
  await using other = receiver();
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
    await using to = receiver();
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
  await using to = receiver();
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

leftToAll(test)("events that find the queue full are counted as lost", async () => {
  await using to = receiver();
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
  await using to = receiver();
  await using node = await testNode(options);
  const { superToken: token } = node;
  await node.call("static-bucket_create", { token, name: "site" });
  const table = `\n[[hooks]]\nurl = "${to.url}"\nsecret = "${secret}"\nevents = ["file.*", "deploy.published"]\n`;
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
