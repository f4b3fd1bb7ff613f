import { expect, test } from "bun:test";
import { siteWith } from "../support/bucket.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { migratedDatabase, type StoreKind, type TestNode, testNode } from "../support/node.ts";
import { postgresRelay } from "../support/postgres-relay.ts";
import { basic, inSite } from "../webdav/auth-requests.ts";

const secret = "hush, not a word";
const stores: readonly StoreKind[] = ["disk", "objects over postgres"];

/** All ways to ask for the file without credentials, or with what was never valid. */
async function strangerSees(node: TestNode, link: string): Promise<Array<readonly [number, string]>> {
  const ask = async (address: string, init: RequestInit = {}) => {
    const response = await fetch(node.url + address, { redirect: "manual", ...init });
    return [response.status, await response.text()] as const;
  };
  const file = "/node/static/site/a.txt";
  return Promise.all([
    ask(file),
    ask(file, { headers: { "cache-control": "no-cache" } }),
    ask(file, { headers: { range: "bytes=0-3" } }),
    ask(file, { headers: { authorization: basic("nobody:at-all") } }),
    ask("/a.txt"),
    ask("/a.txt", { headers: { host: "site.example" } }),
    ask("/node/static-webdav/site/a.txt"),
    ask(`${link.slice(0, -12)}x${link.slice(-11)}`),
  ]);
}

for (const store of stores)
  test(`a private bucket tells strangers nothing while PostgreSQL is away (${store})`, async () => {
    const made = await migratedDatabase("postgres", "");
    await using relay = await postgresRelay(made.url);
    {
      const clock = new ManualClock();
      await using node = await testNode({ store, databaseUrl: relay.url, clock });
      // It becomes private when its file has been sent to everybody, and is in memory.
      const site = await siteWith(node, { "a.txt": secret }, { is_http_root: true, hosts: ["site.example"] });
      await site.settled();
      const reader = { authorization: `Bearer ${await node.newToken(inSite(["read"]))}` };
      for (let again = 0; again < 3; again += 1) expect(await (await site.get("/a.txt")).text()).toBe(secret);
      const own = { token: node.superToken, name: "site" };
      await node.call("static-bucket_update", { ...own, public: false });
      const { address: link } = (await node.call("static-bucket-file_link", { ...own, path: "a.txt" })) as {
        address: string;
      };
      for (const answer of [await fetch(node.url + link), await site.get("/a.txt", reader)])
        expect([answer.status, await answer.text()]).toEqual([200, secret]);
      await relay.refuse();
      // The second is over for which records are used without a look.
      await clock.advance(1000);
      for (const [status, text] of await strangerSees(node, link)) {
        expect([401, 404, 503]).toContain(status);
        expect(text).not.toContain(secret.slice(0, 4));
      }
      // Whether a token or a link is still valid cannot be told.
      for (const answer of [await site.get("/a.txt", reader), await fetch(node.url + link)])
        expect([answer.status, (await answer.text()).includes(secret)]).toEqual([503, false]);
      await relay.mend();
      await clock.until(
        "the file is served",
        1000,
        async () => (await site.get("/a.txt", reader)).status === 200,
      );
      expect((await site.get("/a.txt")).status).toBe(401);
    }
    await made.drop();
  });

for (const store of stores)
  test(`a PostgreSQL that is silent does not hold up what is known (${store})`, async () => {
    const made = await migratedDatabase("postgres", "");
    await using relay = await postgresRelay(made.url);
    {
      const clock = new ManualClock();
      await using node = await testNode({ store, databaseUrl: relay.url, clock });
      const site = await siteWith(node, { "a.txt": "known" });
      await site.settled();
      for (let again = 0; again < 3; again += 1)
        expect(await (await site.get("/a.txt")).text()).toBe("known");
      relay.silence();
      await clock.advance(1000);
      const silentAt = clock.monotonic();
      for (let again = 0; again < 3; again += 1) {
        const answer = await clock.settle(site.get("/a.txt"), 50);
        expect([answer.status, await answer.text()]).toEqual([200, "known"]);
      }
      // Nothing waited for the deadline of a statement, which is a minute here.
      expect(clock.monotonic() - silentAt).toBeLessThan(5000);
      await relay.mend();
      await clock.until("the database is asked again", 1000, async () => {
        const answer = await fetch(`${node.url}/node/static/site/a.txt`, {
          headers: { "cache-control": "no-cache" },
        });
        return answer.status === 200;
      });
    }
    await made.drop();
  });
