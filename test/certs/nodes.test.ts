import { afterAll, expect } from "bun:test";
import { SQL } from "bun";
import { bucketAt, issuedFor, orderingNode, ordersFrom, serverName, shownFor } from "../support/certs.ts";
import { newDatabase, type TestNode, tempFolder, testNode } from "../support/node.ts";
import { openPebble } from "../support/pebble.ts";
import { freePort } from "../support/postgres.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";

const opened = await openPebble();
afterAll(() => opened?.[Symbol.asyncDispose]());

const longMs = 60_000;
const secret = "0123456789abcdef0123456789abcdef";

if (opened !== undefined) {
  const pebble = opened;
  const orders = () => pebble.requests.filter((path) => path === "/order-plz").length;

  test(
    "of three nodes one orders, each can answer the authority, and all have the certificate in seconds",
    async () => {
      await using folder = await tempFolder();
      const database = await newDatabase("postgres", folder.path);
      await using ending = new AsyncDisposableStack();
      ending.defer(() => database.drop());
      const ports = await Promise.all([freePort(), freePort(), freePort()]);
      // A balancer that asks one node after the other.
      let turn = 0;
      const nodes: TestNode[] = [];
      const balancer = Bun.serve({
        port: pebble.httpPort,
        hostname: "127.0.0.1",
        fetch: ({ url }) => {
          const port = ports[turn++ % Math.max(1, nodes.length)];
          const passed = fetch(`http://127.0.0.1:${port}${new URL(url).pathname}`, { redirect: "manual" });
          return passed.catch(() => new Response("the node is away", { status: 502 }));
        },
      });
      ending.defer(() => balancer.stop(true));
      const options = ordersFrom(pebble, `secret = "${secret}"\n`);
      for (const port of ports) {
        const top = options.top?.replace(`127.0.0.1:${pebble.httpPort}`, `127.0.0.1:${port}`) ?? "";
        nodes.push(ending.use(await testNode({ ...options, top, databaseUrl: database.url })));
      }
      const [first, second, third] = nodes as [TestNode, TestNode, TestNode];
      const shown = await issuedFor(first, serverName);
      for (const node of [second, third]) expect(await issuedFor(node, serverName)).toEqual(shown);
      expect(orders()).toBe(1);
      await bucketAt(first, "shop", "shop.example.com");
      const shop = await issuedFor(third, "shop.example.com");
      await until("the others have it", async () => {
        const others = await Promise.all([first, second].map(({ url }) => shownFor(url, "shop.example.com")));
        return others.every(({ serial }) => serial === shop.serial);
      });
      expect(orders()).toBe(2);
      expect(turn).toBeGreaterThan(3);
      await using sql = new SQL({ url: database.url, max: 1 });
      const rows: Array<{ text: string }> = await sql`SELECT value::text AS text FROM kv`;
      expect(rows.some(({ text }) => /PRIVATE KEY|BEGIN/.test(text))).toBe(false);
      // A node with another secret must not order certificates of its own.
      const wrong = ordersFrom(pebble, `secret = "${secret.replace("0", "x")}"\n`);
      const top = wrong.top?.replace(`127.0.0.1:${pebble.httpPort}`, "127.0.0.1:0") ?? "";
      const refused = testNode({ ...wrong, top, databaseUrl: database.url });
      await expect(refused).rejects.toThrow(/the secret of \[tls\] does not open/);
    },
    longMs,
  );

  test(
    "a server that is stopped in the middle of an order begins it anew after its start",
    async () => {
      let held = 0;
      const { promise: never } = Promise.withResolvers<Response>();
      pebble.intercept = (path) => {
        if (!path.startsWith("/finalize-order/")) return undefined;
        held += 1;
        return never;
      };
      await using node = await orderingNode(pebble);
      await until("the order is being finished", () => held > 0);
      await node.node.close();
      pebble.intercept = undefined;
      await using again = await orderingNode(pebble, { databaseUrl: node.databaseUrl });
      await issuedFor(again, serverName);
    },
    longMs,
  );
}
