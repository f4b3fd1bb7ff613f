import { expect, test } from "bun:test";
import { rename } from "node:fs/promises";
import { siteWith } from "../support/bucket.ts";
import { testCluster } from "../support/cluster.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { migratedDatabase, type TestNode, testNode } from "../support/node.ts";
import { postgresRelay } from "../support/postgres-relay.ts";
import { openRelay } from "../support/relay.ts";
import { hasSeaweed, seaweed } from "../support/seaweed.ts";
import { basic } from "../webdav/auth-requests.ts";

/** Above what is kept in memory. */
const large = Buffer.alloc(3 * 1024 * 1024, "large ");
const files = {
  "a.txt": "known",
  "other.txt": "one",
  "large.bin": large,
  "docs/index.html": "<p>docs</p>",
  "404.html": "<p>not here</p>",
  "cold.txt": "never read",
};

/** What plain GETs of a bucket are answered, as status and content, or where to. */
const answers = async ({ url }: TestNode, paths: readonly string[], headers: Record<string, string> = {}) =>
  Promise.all(
    paths.map(async (path) => {
      const response = await fetch(`${url}/node/static/site/${path}`, {
        headers: { "accept-encoding": "identity", ...headers },
        redirect: "manual",
      });
      const text = await response.text();
      const { status } = response;
      if (status === 503) return [path, 503];
      return [
        path,
        status,
        status < 300 || status === 404 ? Bun.hash(text) : response.headers.get("location"),
      ];
    }),
  );

const asked = ["a.txt", "large.bin", "docs", "docs/", "nothing"];
const known = [
  ["a.txt", 200, Bun.hash("known")],
  ["large.bin", 200, Bun.hash(large.toString())],
  ["docs", 301, "/node/static/site/docs/"],
  ["docs/", 200, Bun.hash("<p>docs</p>")],
  ["nothing", 404, Bun.hash("<p>not here</p>")],
];

const upload = ({ superToken: token, call }: TestNode, path: string, body: string) =>
  call("static-bucket-file_upload", { token, name: "site", path, body });

const dav = ({ url, superToken }: TestNode, method: string, path: string, init: BunFetchRequestInit = {}) =>
  fetch(`${url}/node/static-webdav/site/${path}`, {
    method,
    ...init,
    headers: { authorization: basic(superToken), ...init.headers },
  });

interface Outage {
  readonly node: TestNode;
  readonly clock: ManualClock;
  /** Makes the database unreachable. */
  readonly fail: () => Promise<void>;
}

async function withOutage(kind: "sqlite" | "postgres", story: (outage: Outage) => Promise<void>) {
  const clock = new ManualClock();
  if (kind === "sqlite") {
    await using node = await testNode({ store: "objects over sqlite", clock });
    const path = node.databaseUrl.replace(/^sqlite:(\/\/)?/, "").replace(/\?.*$/, "");
    await story({ node, clock, fail: () => rename(path, `${path}.away`) });
    await rename(`${path}.away`, path);
    return;
  }
  const made = await migratedDatabase("postgres", "");
  await using relay = await postgresRelay(made.url);
  {
    await using node = await testNode({ store: "objects over postgres", databaseUrl: relay.url, clock });
    await story({ node, clock, fail: async () => void (await relay.refuse()) });
    await relay.mend();
  }
  await made.drop();
}

for (const kind of ["sqlite", "postgres"] as const) {
  test(`files, folders and 404 pages stay known while the database is away, whatever else was changed (${kind})`, () =>
    withOutage(kind, async ({ node, clock, fail }) => {
      await siteWith(node, files);
      expect(await answers(node, asked)).toEqual(known);
      await upload(node, "other.txt", "two");
      await upload(node, "docs/more.html", "more");
      await fail();
      await clock.advance(1000);
      expect(await answers(node, asked)).toEqual(known);
      expect(await answers(node, ["cold.txt"])).toEqual([["cold.txt", 503]]);
      expect(await answers(node, asked, { "cache-control": "no-cache" })).toEqual(
        kind === "postgres" ? asked.map((path) => [path, 503]) : known,
      );
      await clock.advance(57_000);
      expect(await answers(node, asked)).toEqual(known);
      await clock.advance(3000);
      expect(await answers(node, asked)).toEqual(asked.map((path) => [path, 503]));
    }));

  test(`what this server has changed is never answered as it was while the database is away (${kind})`, () =>
    withOutage(kind, async ({ node, clock, fail }) => {
      await siteWith(node, { ...files, "gone/a.txt": "a", "moved/a.txt": "a", "emptied.txt": "a" });
      const changed = ["a.txt", "gone/a.txt", "moved/a.txt", "emptied.txt", "large.bin", "nothing"];
      for (const [, status] of await answers(node, changed)) expect([200, 404]).toContain(Number(status));
      await upload(node, "a.txt", "changed");
      await upload(node, "nothing", "something");
      await dav(node, "DELETE", "gone");
      await dav(node, "DELETE", "large.bin");
      await dav(node, "MOVE", "moved", {
        headers: { destination: `${node.url}/node/static-webdav/site/there` },
      });
      await upload(node, "emptied.txt", "");
      await fail();
      await clock.advance(1000);
      const missing = Bun.hash(files["404.html"]);
      expect(await answers(node, changed)).toEqual([
        ["a.txt", 200, Bun.hash("changed")],
        ["gone/a.txt", 404, missing],
        ["moved/a.txt", 404, missing],
        ["emptied.txt", 200, Bun.hash("")],
        ["large.bin", 404, missing],
        ["nothing", 200, Bun.hash("something")],
      ]);
    }));
}

test("what another node has changed elsewhere leaves answers known, and what was seen of a change counts", async () => {
  const clock = new ManualClock();
  await using relays = new AsyncDisposableStack();
  const made = await migratedDatabase("postgres", "");
  const relay = relays.use(await postgresRelay(made.url));
  await using cluster = await testCluster({ databaseUrl: made.url }, () => ({
    databaseUrl: relay.url,
    clock,
  }));
  const [one, two] = cluster.nodes;
  const { superToken: token } = cluster;
  const put = (path: string, body: string) =>
    one.call("static-bucket-file_upload", { token, name: "site", path, body });
  await one.call("static-bucket_create", { token, name: "site" });
  for (const [path, body] of Object.entries({
    "a.txt": "known",
    "b.txt": "old",
    "c.txt": "c",
    "404.html": "no",
  }))
    await put(path, body);
  const statuses = (await answers(two, ["a.txt", "b.txt", "c.txt", "nothing"])).map(([, status]) => status);
  expect(statuses).toEqual([200, 200, 200, 404]);
  await put("b.txt", "new");
  await one.call("static-bucket-file_delete", { token, name: "site", path: "c.txt" });
  // WebDAV sees the state after the change, and what it saw is known to plain GETs.
  const seen = { ...two, url: two.url, superToken: token };
  expect(await (await dav(seen, "GET", "b.txt")).text()).toBe("new");
  expect((await dav(seen, "GET", "c.txt")).status).toBe(404);
  await clock.advance(1000);
  await relay.refuse();
  await clock.advance(1000);
  expect(await answers(two, ["a.txt", "b.txt", "c.txt"])).toEqual([
    ["a.txt", 200, Bun.hash("known")],
    ["b.txt", 200, Bun.hash("new")],
    ["c.txt", 404, Bun.hash("no")],
  ]);
  // A change that nobody saw here ends no answer, and is served as soon as PostgreSQL answers again.
  await put("a.txt", "newer");
  expect(await answers(two, ["a.txt"])).toEqual([["a.txt", 200, Bun.hash("known")]]);
  await relay.mend();
  await clock.until("the change is served", 1000, async () =>
    Bun.deepEquals(await answers(two, ["a.txt"]), [["a.txt", 200, Bun.hash("newer")]]),
  );
});

if (hasSeaweed)
  test("a large file comes from the cache on the disk while PostgreSQL and S3 are away", async () => {
    const { location, port } = await seaweed();
    await using store = await openRelay(port);
    const clock = new ManualClock();
    const made = await migratedDatabase("postgres", "");
    await using relay = await postgresRelay(made.url);
    {
      const keys = {
        url: `s3://${location.bucket}/${crypto.randomUUID()}`,
        endpoint: store.url,
        access_key_id: location.accessKeyId,
        secret_access_key: location.secretAccessKey,
      };
      const lines = Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
      await using node = await testNode({ databaseUrl: relay.url, clock, files: lines.join("") });
      const { superToken: token } = node;
      await node.call("static-bucket_create", { token, name: "site" });
      expect((await dav(node, "PUT", "large.bin", { body: large })).status).toBe(201);
      const wanted = [["large.bin", 200, Bun.hash(large.toString())]];
      for (let again = 0; again < 3; again += 1) expect(await answers(node, ["large.bin"])).toEqual(wanted);
      await upload(node, "other.txt", "two");
      await relay.refuse();
      await store.refuse();
      await clock.advance(1000);
      expect(await answers(node, ["large.bin"])).toEqual(wanted);
    }
    await made.drop();
  });
