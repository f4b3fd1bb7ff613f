import { expect } from "bun:test";
import { Authority } from "../../src/certs/authority.ts";
import { httpAnswerer } from "../../src/certs/challenges.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { orderingCertificates, problemOf } from "../support/certs.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { testNode } from "../support/node.ts";
import { freePort } from "../support/postgres.ts";
import { test } from "../support/test.ts";

const { signal } = new AbortController();

test("an authority that refuses a request as unauthorized refuses the account, not the name", async () => {
  const problem = { type: "urn:ietf:params:acme:error:unauthorized", detail: "the account is deactivated" };
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json(problem, { status: 403 }),
  });
  const settings = {
    directory: server.url.href,
    ca: undefined,
    email: undefined,
    externalAccount: undefined,
  };
  const authority = new Authority(settings, async () => "no key is needed");
  const answerer = httpAnswerer({ challenges: {} as never }, { nowMs: () => 0 });
  await using shown = new AsyncDisposableStack();
  const begun = { key: "no key is needed" };
  const options = { answerer, shown, begun, keep: async () => {}, replaces: undefined, signal };
  await expect(authority.order("example.com", options)).rejects.toMatchObject({
    reason: "account_refused",
    message: problem.detail,
  });
});

test("a name that ends in a number leads to no request: some programs take it for an address", async () => {
  const asked: string[] = [];
  const reach = async (name: string) => `http://${asked.push(name)}`;
  const answerer = httpAnswerer({ challenges: {} as never }, { nowMs: () => 0, reach });
  for (const name of ["10.1", "shop.127", "0x7f000001", "shop.0x1"])
    await expect(answerer.check(name, signal)).rejects.toMatchObject({ reason: "name_refused" });
  expect(asked).toEqual([]);
});

test("what strangers ask at the address of challenges costs few reads of the database, and long tokens none", async () => {
  const port = await freePort();
  const top = orderingCertificates.top?.replace("127.0.0.1:0", `127.0.0.1:${port}`) ?? "";
  await using node = await testNode({ ...orderingCertificates, top, clock: new ManualClock() });
  await problemOf(node, "shop.example.com");
  let statements = 0;
  const count = () => {
    statements += 1;
  };
  node.node.hub.attach({ filter: parseFilter("off,db=trace"), write: count });
  const ask = async (token: string) => {
    const url = `http://127.0.0.1:${port}/.well-known/acme-challenge/${token}`;
    return (await fetch(url, { redirect: "manual" })).status;
  };
  const statuses = await Promise.all(Array.from({ length: 400 }, (_, n) => ask(`token-${n}`)));
  expect(new Set(statuses)).toEqual(new Set([308]));
  expect(statements).toBeWithin(1, 100);
  const before = statements;
  expect(await ask("a".repeat(129))).toBe(308);
  expect(statements).toBe(before);
});
