import { expect, test } from "bun:test";
import { testCluster } from "../support/cluster.ts";
import { limitDatabase } from "../support/database-limits.ts";
import type { TestNode } from "../support/node.ts";
import { type PostgresRelay, postgresRelay } from "../support/postgres-relay.ts";
import { untilMissing } from "../support/ready.ts";
import { until } from "../support/until.ts";

interface Outage {
  readonly one: TestNode;
  /** The node whose way to PostgreSQL the relay can break. */
  readonly two: TestNode;
  readonly relay: PostgresRelay;
  readonly token: string;
}

/** Two nodes with a bucket `site`; the second one reaches PostgreSQL by a relay and has a file of it in memory. */
async function withOutage(story: (outage: Outage) => Promise<void>, timeoutMs = 2000): Promise<void> {
  await using relays = new AsyncDisposableStack();
  let relay: PostgresRelay | undefined;
  await using cluster = await testCluster({}, async (first) => {
    relay = relays.use(await postgresRelay(first.databaseUrl));
    return { databaseUrl: relay.url };
  });
  const [one, two] = cluster.nodes;
  const token = cluster.superToken;
  if (relay === undefined) throw new TypeError("there is no relay");
  await one.call("static-bucket_create", { token, name: "site" });
  for (const [path, body] of Object.entries({ "a.txt": "text", "cold.txt": "cold" }))
    await one.call("static-bucket-file_upload", { token, name: "site", path, body });
  await limitDatabase(two, timeoutMs);
  for (let times = 0; times < 3; times += 1)
    await until("the file is served", async () => (await get(two, "a.txt")).status === 200);
  await story({ one, two, relay, token });
}

const get = ({ url }: TestNode, path: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/node/static/site/${path}`, { headers });

/** The status and what a client learns about when to come again. */
async function refusal(response: Promise<Response>): Promise<unknown> {
  const { status, headers } = await response;
  return [status, headers.get("retry-after")];
}

const away = [503, "5"];
const failures = {
  silence: (relay: PostgresRelay) => relay.silence(),
  cut: (relay: PostgresRelay) => relay.cut(),
};

for (const [name, fail] of Object.entries(failures))
  test(`a node without PostgreSQL serves what it knows, refuses the rest, and recovers by itself (${name})`, () =>
    withOutage(async ({ one, two, relay, token }) => {
      fail(relay);
      await untilMissing(two, "database");
      await until("what it knows is served", async () => (await get(two, "a.txt")).status === 200);
      const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
      const dav = `${two.url}/node/static-webdav/site/a.txt`;
      expect(await (await get(two, "a.txt")).text()).toBe("text");
      expect(await refusal(get(two, "a.txt", { "cache-control": "no-cache" }))).toEqual(away);
      expect(await refusal(get(two, "cold.txt"))).toEqual(away);
      expect(await refusal(fetch(dav, { headers: { authorization } }))).toEqual(away);
      expect(await refusal(fetch(dav, { method: "PUT", headers: { authorization }, body: "x" }))).toEqual(
        away,
      );
      expect((await two.refused("token_get", { token })).data).toMatchObject({ reason: "unavailable" });
      // A node that reaches PostgreSQL is not held up.
      await one.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "new" });
      await relay.mend();
      await until("the change is served", async () => (await (await get(two, "a.txt")).text()) === "new");
      await until("it is ready", async () => (await fetch(`${two.url}/node/ready`)).status === 200);
      const upload = { token, name: "site", path: "a.txt", body: "newer" };
      await until(
        "it takes changes",
        async () => (await two.send("static-bucket-file_upload", upload)).error === undefined,
      );
      const present = await get(one, "a.txt", { "cache-control": "no-cache" });
      expect(await present.text()).toBe("newer");
    }));

test("while PostgreSQL is silent one call at a time finds out whether it is back, and the others do not wait", () => {
  const timeoutMs = 1000;
  return withOutage(async ({ two, relay, token }) => {
    relay.silence();
    // Of two calls at once, one is the one that tries.
    await until("the loss is known", async () => {
      const pair = await Promise.all([1, 2].map(() => two.refused("token_get", { token })));
      return pair.some(({ data }) => String(data.detail).includes("cannot be reached"));
    });
    // A crowd that comes over more than a second, on a busy machine, meets the next try, too.
    await until("one of a crowd waits at most", async () => {
      let waited = 0;
      const call = async () => {
        const start = performance.now();
        const { data } = await two.refused("token_get", { token });
        expect(data.reason).toBe("unavailable");
        if (performance.now() - start >= timeoutMs) waited += 1;
      };
      await Promise.all(Array.from({ length: 40 }, call));
      return waited < 2;
    });
    await relay.mend();
    await until("calls succeed", async () => (await two.send("token_get", { token })).error === undefined);
  }, timeoutMs);
});

test("a token that one node revokes ends streams and is refused on the other, which hears no hints", async () => {
  await using relays = new AsyncDisposableStack();
  await using cluster = await testCluster({}, async (first) => {
    const relay = relays.use(await postgresRelay(first.databaseUrl));
    relay.passesNotifications = false;
    return { databaseUrl: relay.url };
  });
  const [one, two] = cluster.nodes;
  const token = await one.newToken([{ scopes: ["global"], permissions: [{ node: "read_logs" }] }]);
  await using socket = await two.socket();
  const { result } = await socket.call("log_stream", { token, log_filter: "off,task=info" });
  expect(typeof result).toBe("string");
  await one.call("token_delete", [cluster.superToken, token.split(":")[0]]);
  expect((await two.refused("token_get", { token })).code).toBe(102);
  for (let ended = false; !ended; ) {
    const { params } = (await socket.next()) as { params: { end?: { reason: string } } };
    ended = params.end?.reason === "token_invalid";
  }
});
