import { afterAll, expect } from "bun:test";
import {
  bucketAt,
  issuedFor,
  orderingNode,
  ordersFrom,
  problemOf,
  serverName,
  shownFor,
  stateOf,
} from "../support/certs.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { openPebble, type Pebble } from "../support/pebble.ts";
import { test } from "../support/test.ts";
import { until } from "../support/until.ts";

const opened = await openPebble();
afterAll(() => opened?.[Symbol.asyncDispose]());

const longMs = 60_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How often something was ordered so far. */
const ordersOf = ({ requests }: Pebble) => requests.filter((path) => path === "/order-plz").length;

function refusal(status: number, type: string, headers: Record<string, string> = {}): Response {
  return Response.json(
    { type: `urn:ietf:params:acme:error:${type}`, detail: `${type} by the story` },
    { status, headers: { "replay-nonce": "bm9uY2U", ...headers } },
  );
}

/** The moment at which a certificate is to be renewed. */
async function renewalOf(node: TestNode, name = serverName): Promise<number> {
  return (await stateOf(node, name)).renew_at as number;
}

if (opened !== undefined) {
  const pebble = opened;

  test(
    "a certificate is renewed after about two thirds of its life, by the clock",
    async () => {
      const clock = new ManualClock();
      await using node = await orderingNode(pebble, { clock });
      const first = await issuedFor(node, serverName);
      const { from, until: end, renew_at } = (await stateOf(node, serverName)) as Record<string, number>;
      const share = ((renew_at ?? 0) - (from ?? 0)) / ((end ?? 0) - (from ?? 0));
      expect(share).toBeWithin(0.61, 0.67);
      const orders = ordersOf(pebble);
      await clock.jump((renew_at ?? 0) - clock.now() - hourMs);
      await clock.advance(10_000);
      expect(ordersOf(pebble)).toBe(orders);
      await clock.jump(hourMs);
      await clock.until("the new certificate is shown", 10_000, async () => {
        const shown = await shownFor(node.url, serverName);
        return shown.serial !== first.serial && shown.issuer.startsWith("Pebble");
      });
      expect(ordersOf(pebble)).toBe(orders + 1);
    },
    longMs,
  );

  test(
    "while the authority is away the old certificate stays, the pauses grow, and the next attempt succeeds",
    async () => {
      const clock = new ManualClock();
      await using node = await orderingNode(pebble, { clock });
      const first = await issuedFor(node, serverName);
      pebble.intercept = () => new Response("away", { status: 503 });
      await clock.jump((await renewalOf(node)) - clock.now() + minuteMs);
      const pauses: number[] = [];
      let last = 0;
      while (pauses.length < 4) {
        await clock.until("another attempt has failed", 30_000, async () => {
          const { problem } = (await stateOf(node, serverName)) as { problem: { at: number } | null };
          return problem !== null && problem.at > last;
        });
        const problem = await problemOf(node, serverName);
        expect(problem).toMatchObject({ reason: "ca_away", advice: expect.stringContaining("directory") });
        last = problem.at as number;
        pauses.push(((problem.retry_at as number) - last) / minuteMs);
      }
      expect(pauses).toEqual([2, 10, 30, 120]);
      expect(await shownFor(node.url, serverName)).toEqual(first);
      expect(await stateOf(node, serverName)).toMatchObject({ state: "issued" });
      pebble.intercept = undefined;
      await clock.until("the certificate is renewed", 5 * minuteMs, async () => {
        return (await shownFor(node.url, serverName)).serial !== first.serial;
      });
      expect(await stateOf(node, serverName)).toMatchObject({ state: "issued", problem: null });
    },
    longMs,
  );

  test(
    "a name that leads to another server costs no order, and gets its certificate soon after the DNS is right",
    async () => {
      const clock = new ManualClock();
      await using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("another") });
      await using node = await orderingNode(pebble, { clock });
      await issuedFor(node, serverName);
      pebble.elsewhere.set("moved.example.com", `http://127.0.0.1:${other.port}`);
      const orders = ordersOf(pebble);
      await bucketAt(node, "moved", "moved.example.com");
      await clock.advance(10_000);
      expect(await problemOf(node, "moved.example.com")).toMatchObject({ reason: "dns_elsewhere" });
      expect(ordersOf(pebble)).toBe(orders);
      expect((await shownFor(node.url, "moved.example.com")).subject).toBe(serverName);
      pebble.elsewhere.delete("moved.example.com");
      await clock.until("the name has its certificate", 10_000, async () => {
        return (await shownFor(node.url, "moved.example.com")).subject === "moved.example.com";
      });
    },
    longMs,
  );

  test(
    "what the authority refuses has a code: a closed port, a wrong answer, CAA, a rate limit, a forbidden name",
    async () => {
      await using node = await orderingNode(pebble);
      await issuedFor(node, serverName);
      // The authority is led to an address of this machine at which nothing listens.
      await pebble.dns("add-a", { host: "closed.example.com", addresses: ["127.0.0.99"] });
      await bucketAt(node, "closed", "closed.example.com");
      // There is another server at the address that only the authority is led to.
      await using _other = Bun.serve({
        hostname: "127.0.0.98",
        port: pebble.httpPort,
        fetch: () => new Response("another"),
      });
      await pebble.dns("add-a", { host: "refused.example.com", addresses: ["127.0.0.98"] });
      await bucketAt(node, "refused", "refused.example.com");
      const refusals: Readonly<Record<string, () => Response>> = {
        caa: () => refusal(403, "caa"),
        bad: () => refusal(400, "rejectedIdentifier"),
        many: () => refusal(429, "rateLimited", { "retry-after": "86400" }),
      };
      pebble.intercept = (path, body) => {
        if (path !== "/order-plz") return undefined;
        const { payload } = JSON.parse(body) as { payload: string };
        const name = Object.keys(refusals).find((name) =>
          Buffer.from(payload, "base64url").includes(`${name}.example.com`),
        );
        return refusals[name ?? ""]?.();
      };
      for (const name of Object.keys(refusals)) await bucketAt(node, name, `${name}.example.com`);
      const problems = ["closed", "caa", "bad", "many"].map((name) => problemOf(node, `${name}.example.com`));
      const [closed, caa, bad, many] = await Promise.all(problems);
      expect(closed).toMatchObject({ reason: "port_closed" });
      expect(await problemOf(node, "refused.example.com")).toMatchObject({ reason: "dns_elsewhere" });
      expect(caa).toMatchObject({ reason: "caa", detail: "caa by the story" });
      expect(bad).toMatchObject({ reason: "name_refused" });
      expect(many).toMatchObject({ reason: "rate_limited" });
      expect((many?.retry_at as number) - (many?.at as number)).toBe(dayMs);
      pebble.intercept = undefined;
    },
    longMs,
  );

  test(
    "the server limits its own orders, so that no mistake uses up the limits of the authority",
    async () => {
      await using node = await orderingNode(pebble);
      let { serial } = await issuedFor(node, serverName);
      const { superToken: token } = node;
      for (let order = 2; order <= 4; order += 1) {
        await node.call("node-server_renew_certificate", { token, name: serverName });
        const before = serial;
        await until("the certificate is new", async () => {
          ({ serial } = await shownFor(node.url, serverName));
          return serial !== before;
        });
      }
      const orders = ordersOf(pebble);
      const before = await stateOf(node, serverName);
      const limited = await node.refused("node-server_renew_certificate", { token, name: serverName });
      expect(limited.data).toMatchObject({ reason: "limited_here", retry_at: expect.any(Number) });
      expect(before).toMatchObject({ state: "issued", problem: null });
      expect(await stateOf(node, serverName)).toEqual(before);
      expect(ordersOf(pebble)).toBe(orders);
      expect((await shownFor(node.url, serverName)).serial).toBe(serial);
      const unknown = await node.refused("node-server_renew_certificate", { token, name: "x.example.com" });
      expect(unknown.message).toContain("neither a name of the server nor a host name");
    },
    longMs,
  );

  test(
    "an attempt by hand delays none of the server's own, and other settings are tried at once",
    async () => {
      const clock = new ManualClock();
      const { top = "", reach } = ordersFrom(pebble);
      await using node = await testNode({ clock, reach, top: top.replace(/^email.*$/m, "") });
      await issuedFor(node, serverName);
      pebble.intercept = (path) => (path === "/order-plz" ? refusal(403, "caa") : undefined);
      await bucketAt(node, "late", "late.example.com");
      const { at, retry_at } = await problemOf(node, "late.example.com");
      await clock.jump(30_000);
      await node.call("node-server_renew_certificate", { token: node.superToken, name: "late.example.com" });
      await until("the attempt by hand has failed", async () => {
        return (await problemOf(node, "late.example.com")).at !== at;
      });
      expect((await problemOf(node, "late.example.com")).retry_at).toBe(retry_at);
      pebble.intercept = undefined;
      const config = await Bun.file(node.configPath).text();
      await node.editConfig(config.replace("auto = true", 'auto = true\nemail = "other@example.com"'));
      await issuedFor(node, "late.example.com");
    },
    longMs,
  );

  test(
    "an account that the authority has lost is made again, with the same key",
    async () => {
      await using node = await orderingNode(pebble);
      const { serial } = await issuedFor(node, serverName);
      await pebble.forget();
      await node.call("node-server_renew_certificate", { token: node.superToken, name: serverName });
      await until(
        "the certificate is new",
        async () => (await shownFor(node.url, serverName)).serial !== serial,
      );
    },
    longMs,
  );

  test(
    "the authority says when a certificate is to be renewed, and is told which one the order replaces",
    async () => {
      const clock = new ManualClock();
      const origin = new URL(pebble.directory).origin;
      pebble.advertise = { renewalInfo: `${origin}/ari` };
      const asked: string[] = [];
      const replaced: string[] = [];
      let start = clock.now() + 30 * dayMs;
      pebble.intercept = (path, body) => {
        if (path === "/order-plz") {
          const { payload } = JSON.parse(body) as { payload: string };
          const { replaces } = JSON.parse(Buffer.from(payload, "base64url").toString()) as {
            replaces?: string;
          };
          if (replaces !== undefined) replaced.push(replaces);
        }
        if (!path.startsWith("/ari/")) return undefined;
        const id = path.slice("/ari/".length);
        asked.push(id);
        const at = (ms: number) => new Date(ms).toISOString();
        const begin = id === asked[0] ? start : clock.now() + 30 * dayMs;
        const suggestedWindow = { start: at(begin), end: at(begin + dayMs) };
        return Response.json({ suggestedWindow }, { headers: { "retry-after": "21600" } });
      };
      await using node = await orderingNode(pebble, { clock });
      const { serial } = await issuedFor(node, serverName);
      await clock.until(
        "the authority was asked",
        10_000,
        async () => (await renewalOf(node)) < start + dayMs,
      );
      expect(await renewalOf(node)).toBeWithin(start, start + dayMs + 1);
      expect(asked).toHaveLength(1);
      // All certificates of the authority are to be replaced soon.
      start = clock.now() - dayMs;
      await clock.jump(2 * dayMs);
      await clock.until("the certificate is new", 10_000, async () => {
        return (await shownFor(node.url, serverName)).serial !== serial;
      });
      expect([...new Set(replaced)]).toEqual([asked[0] as string]);
      pebble.intercept = undefined;
      pebble.advertise = {};
    },
    longMs,
  );
}
