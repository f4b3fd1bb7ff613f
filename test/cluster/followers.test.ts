import { expect, test } from "bun:test";
import { testCluster } from "../support/cluster.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { postgresRelay } from "../support/postgres-relay.ts";
import type { Notification } from "../support/socket.ts";
import { until } from "../support/until.ts";

test("a follower on one node knows of every change that another has answered, whatever messages are lost", async () => {
  await using relays = new AsyncDisposableStack();
  const clock = new ManualClock();
  let relay: Awaited<ReturnType<typeof postgresRelay>> | undefined;
  await using cluster = await testCluster({}, async (first) => {
    relay = relays.use(await postgresRelay(first.databaseUrl));
    return { databaseUrl: relay.url, clock };
  });
  const [one, two] = cluster.nodes;
  const token = cluster.superToken;
  await one.call("static-bucket_create", { token, name: "site" });
  const upload = (path: string) =>
    one.call("static-bucket-file_upload", { token, name: "site", path, body: "" });
  await using socket = await two.socket();
  const heard: Array<Readonly<Record<string, unknown>>> = [];
  const listen = () => {
    for (const message of (socket.untaken as unknown[]).splice(0)) {
      const { result } = (message as Notification).params;
      heard.push(result as Readonly<Record<string, unknown>>);
    }
  };
  const knows = (path: string) => {
    listen();
    return heard.some((event) => event.path === path || (event.event === "reset" && event.reason === "lost"));
  };
  const reply = await socket.call("static-bucket_watch", { token, name: "site" });
  expect(reply.error).toBeUndefined();
  // The other node has to hear first that somebody follows.
  await clock.until("a change is known", 500, async () => {
    await upload("first");
    return knows("first");
  });
  heard.length = 0;
  await upload("told");
  await until("it is told", () => knows("told"));
  heard.length = 0;
  if (relay !== undefined) relay.passesNotifications = false;
  await upload("lost");
  await clock.until("the follower is to list again", 500, () => knows("lost"));
  expect(heard.at(-1)).toMatchObject({ event: "reset", reason: "lost" });
});
