import { expect, test } from "bun:test";
import { SQL } from "bun";
import { openDialect } from "../../src/db/database.ts";
import type { Topic } from "../../src/db/postgres/notifications.ts";
import { LogHub } from "../../src/log/hub.ts";
import { testCluster } from "../support/cluster.ts";
import { settingsFor } from "../support/database-settings.ts";
import { newDatabase, tempFolder } from "../support/node.ts";
import { postgresRelay } from "../support/postgres-relay.ts";
import { until } from "../support/until.ts";

/** What counts as changed after a connection was made. */
const topics: readonly Topic[] = ["buckets", "certificates", "tokens"];

async function openHearers() {
  const folder = await tempFolder();
  const { url, drop } = await newDatabase("postgres", folder.path);
  const relay = await postgresRelay(url);
  const open = (through: string) =>
    openDialect({ ...settingsFor(through), max_connections: 2 }, new LogHub());
  const [one, two] = [await open(url), await open(relay.url)];
  const heard: Topic[] = [];
  two.notifications.listen((topic) => heard.push(topic));
  await until("it listens", () => heard.length === topics.length);
  return {
    url,
    relay,
    one,
    two,
    heard,
    async [Symbol.asyncDispose]() {
      await one.close();
      await two.close();
      await relay[Symbol.asyncDispose]();
      await drop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("a hint reaches other nodes, not its sender, and many become few", async () => {
  await using nodes = await openHearers();
  const { one, two, heard } = nodes;
  const ownHints: Topic[] = [];
  one.notifications.listen((topic) => ownHints.push(topic));
  await until("both listen", () => ownHints.length === topics.length);
  ownHints.length = 0;
  heard.length = 0;
  for (let at = 0; at < 500; at += 1) one.notifications.send("buckets");
  one.notifications.send("tokens");
  await until("both topics came", () => heard.includes("buckets") && heard.includes("tokens"));
  expect(heard.length).toBeLessThan(10);
  two.notifications.send("tokens");
  await until("the other hears too", () => ownHints.length > 0);
  expect(ownHints).toEqual(["tokens"]);
});

test("what is no hint is ignored, and after a reconnect everything counts as changed", async () => {
  await using nodes = await openHearers();
  const { one, heard, relay, url } = nodes;
  heard.length = 0;
  await using outside = new SQL({ url, max: 1 });
  for (const payload of ["", "x".repeat(7000), "TOKENS", "__proto__ constructor"])
    await outside.notify("node_server", payload);
  one.notifications.send("tokens");
  await until("a hint came", () => heard.length > 0);
  expect(heard).toEqual(["tokens"]);
  heard.length = 0;
  relay.cut();
  await relay.mend();
  await until("it listens again", () => heard.length >= topics.length);
  expect(new Set(heard)).toEqual(new Set(topics));
});

test("a node that hears no hints, as behind a pooler, serves what another changed all the same", async () => {
  await using relays = new AsyncDisposableStack();
  await using cluster = await testCluster({}, async (first) => {
    const relay = relays.use(await postgresRelay(first.databaseUrl));
    relay.passesNotifications = false;
    return { databaseUrl: relay.url };
  });
  const [one, two] = cluster.nodes;
  const token = cluster.superToken;
  const upload = (body: string) =>
    one.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body });
  const read = async () => (await fetch(`${two.url}/node/static/site/a.txt`)).text();
  await one.call("static-bucket_create", { token, name: "site" });
  await upload("first");
  expect(await read()).toBe("first");
  await upload("second");
  await until("the change is served", async () => (await read()) === "second");
});
