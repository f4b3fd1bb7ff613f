import { expect } from "bun:test";
import { eachDatabase, testNode } from "../support/node.ts";
import { story } from "../support/process.ts";
import { deploySite, fill, openGate } from "./deploy-site.ts";

story("a second push to a bucket is told of the first, and begins when that has ended", async () => {
  await using site = await deploySite();
  const { local, node, held } = site;
  await fill(local, { "index.html": "page" });
  const [reached, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using gate = await openGate(node.url, async (what) => {
    if (what !== "PUT index.html") return;
    reached.resolve();
    await proceed.promise;
  });
  const first = site.start({ NODE_SERVER_URL: gate.url }, "push", local, "site");
  await reached.promise;
  const second = await site.run("push", local, "site");
  proceed.resolve();
  expect([second.code, second.stdout, second.stderr]).toEqual([
    1,
    "",
    "node-server: the token root is changing this bucket (push, begun just now); nothing was done. Try again later\n",
  ]);
  expect((await first.exited).code).toBe(0);
  expect((await site.run("push", local, "site")).code).toBe(0);
  expect(await held()).toEqual({ "index.html": "page" });
});

eachDatabase("of programs that begin at once to change a bucket, one may", async (database) => {
  await using node = await testNode({ database });
  const { superToken: token } = node;
  for (const name of ["site", "other"]) await node.call("static-bucket_create", { token, name });
  const take = (name: string, lease?: string) =>
    node.send("static-bucket_lease", { token, name, what: "deploy", ...(lease && { lease }) });
  const answers = await Promise.all(Array.from({ length: 20 }, () => take("site")));
  const won = answers.filter(({ error }) => error === undefined);
  expect(won.length).toBe(1);
  const [{ lease } = { lease: "" }] = won.map(({ result }) => result as { lease: string });
  const lost = answers.find(({ error }) => error !== undefined)?.error?.data;
  expect(lost).toMatchObject({ reason: "in_use", by: "root", what: "deploy", since: expect.any(Number) });
  // No answer says what would renew or end somebody else's.
  expect(JSON.stringify(answers.filter(({ error }) => error !== undefined))).not.toContain(lease);
  expect((await take("other")).error).toBeUndefined();
  expect((await take("site", lease)).result).toMatchObject({ lease });

  const release = (lease: string) => node.send("static-bucket_release", { token, name: "site", lease });
  expect((await release("guessed")).result).toBe(false);
  expect((await take("site")).error).toBeDefined();
  expect([(await release(lease)).result, (await release(lease)).result]).toEqual([true, false]);
  expect((await take("site")).error).toBeUndefined();
  // Whoever died holds nobody up.
  const ended = JSON.stringify({ lease: "old", what: "push", by: "x", since: 1, until: 2 });
  const sql = `UPDATE kv SET value = '${ended}' WHERE namespace = 'static-bucket/transfers'`;
  await node.sql(sql);
  expect((await take("site")).error).toBeUndefined();
});
