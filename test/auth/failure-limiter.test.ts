import { expect, test } from "bun:test";
import { eachDatabase, type TestNode, testNode, type WireReply } from "../support/node.ts";

const invalid = { code: 102, message: "Permission Denied: Invalid credentials" };

/** Uses up the failures that an address has for free. */
async function failOften(node: TestNode, times = 20): Promise<WireReply[]> {
  return Promise.all(
    Array.from({ length: times }, (_, n) => node.send("token_get", { token: `key${n}:wrong` })),
  );
}

/** Names each promise as it settles. */
function watch(): { finished: string[]; add<T>(name: string, work: Promise<T>): Promise<T> } {
  const finished: string[] = [];
  return {
    finished,
    add: (name, work) =>
      work.finally(() => {
        finished.push(name);
      }),
  };
}

eachDatabase(
  "after 20 failures a refusal waits, and the right credentials of the same address pass it by",
  async (database) => {
    await using node = await testNode({ database });
    await node.newToken([], { username: "anna", password: "right-word" });
    const { finished, add } = watch();
    const first = await Promise.race([failOften(node), Bun.sleep(900)]);
    expect(first).toHaveLength(20);
    const failing = add("wrong secret", node.refused("token_get", { token: "key:wrong" }));
    await Bun.sleep(50);
    const right = await Promise.all([
      add("right secret", node.call("token_get", { token: node.superToken })),
      add("right password", node.call("token_get", { token: "anna|right-word" })),
    ]);
    expect(right).toMatchObject([{ username: "root" }, { username: "anna" }]);
    expect(await failing).toMatchObject(invalid);
    expect(finished.at(-1)).toBe("wrong secret");
  },
);

test("the first 20 failures of an address are answered at once", async () => {
  await using node = await testNode();
  const replies = await Promise.race([failOften(node), Bun.sleep(900)]);
  expect(replies).toHaveLength(20);
  const next = node.refused("token_get", { token: "key:wrong" });
  expect(await Promise.race([next, Bun.sleep(500)])).toBeUndefined();
  expect(await next).toMatchObject(invalid);
});

test("a refusal waits no longer than about a second, however many came before", async () => {
  await using node = await testNode();
  await failOften(node, 60);
  const last = await Promise.race([node.refused("token_get", { token: "key:wrong" }), Bun.sleep(3000)]);
  expect(last).toMatchObject(invalid);
});

test("on one WebSocket the right call overtakes the wrong one before it", async () => {
  await using node = await testNode();
  await failOften(node);
  await using socket = await node.socket();
  const { finished, add } = watch();
  await Promise.all([
    add("wrong", socket.call("token_get", { token: "key:wrong" })),
    add("right", socket.call("token_get", { token: node.superToken })),
  ]);
  expect(finished).toEqual(["right", "wrong"]);
});

test("right credentials without the permission, and texts that are no token, are no guesses", async () => {
  await using node = await testNode();
  const token = await node.newToken([]);
  const expired = await node.newToken([], { timestamp_to: 1 });
  for (let i = 0; i < 10; i += 1) {
    await node.refused("token_list_all_tokens", { token });
    await node.refused("token_get", { token: expired });
    await node.refused("token_get", { token: "no token" });
  }
  const quick = await Promise.race([node.refused("token_get", { token: "key:wrong" }), Bun.sleep(500)]);
  expect(quick).toMatchObject(invalid);
});

test("refusals that wait take no place from others", async () => {
  await using node = await testNode({ top: "jsonrpc_max_connections = 2\n" });
  for (let i = 0; i < 20; i += 1) await node.refused("token_get", { token: "key:wrong" });
  const { finished, add } = watch();
  const waiting: Array<Promise<unknown>> = [];
  for (let i = 0; i < 8; i += 1) {
    waiting.push(add("wrong", node.refused("token_get", { token: "key:wrong" })));
    await Bun.sleep(25);
  }
  expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
  expect(finished).toEqual([]);
  for (const refusal of await Promise.all(waiting)) expect(refusal).toMatchObject(invalid);
});

test("an unknown user name, and one without a password, cost as much as a wrong password", async () => {
  await using node = await testNode();
  await node.newToken([], { username: "anna", password: "right-word" });
  await node.newToken([], { username: "wordless" });
  const cost = async (token: string): Promise<number> => {
    const start = performance.now();
    await node.refused("token_get", { token });
    return performance.now() - start;
  };
  const costs: Record<string, number[]> = { anna: [], nobody: [], wordless: [] };
  for (let i = 0; i < 6; i += 1)
    for (const [name, taken] of Object.entries(costs)) taken.push(await cost(`${name}|wrong-word`));
  const median = (taken: number[] = []) => taken.sort((a, b) => a - b)[3] ?? 0;
  for (const name of ["nobody", "wordless"]) {
    expect(median(costs[name])).toBeGreaterThan(median(costs.anna) / 4);
    expect(median(costs[name])).toBeLessThan(median(costs.anna) * 4);
  }
});

test("a crowd of wrong passwords keeps no key and secret waiting", async () => {
  await using node = await testNode();
  let pending = 60;
  const crowd = Array.from({ length: pending }, (_, n) =>
    node.send("token_get", { token: `user${n}|wrong-word` }).finally(() => {
      pending -= 1;
    }),
  );
  await Bun.sleep(50);
  expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
  expect(pending).toBeGreaterThan(0);
  await Promise.all(crowd);
}, 30_000);

test("wrong passwords that wait to be checked take no place from others", async () => {
  await using node = await testNode({ top: "jsonrpc_max_connections = 10\n" });
  const crowd = Array.from({ length: 10 }, (_, n) =>
    node.send("token_get", { token: `user${n}|wrong-word` }),
  );
  await Bun.sleep(10);
  const right = await node.send("token_get", { token: node.superToken });
  await Promise.all(crowd);
  expect(right).toMatchObject({ result: { username: "root" } });
});

eachDatabase("a password that was right is not believed after it changed", async (database) => {
  await using node = await testNode({ database });
  await node.newToken([], { username: "anna", password: "first-word" });
  const { superToken: token } = node;
  const login = (word: string) => node.send("token_get", { token: `anna|${word}` });
  const set = (new_password: string) =>
    node.call("token_change_password", { token, target_token: "anna", new_password });
  for (let i = 0; i < 3; i += 1)
    expect((await login("first-word")).result).toMatchObject({ username: "anna" });
  await set("second-word");
  expect((await login("first-word")).error).toMatchObject(invalid);
  expect((await login("second-word")).result).toMatchObject({ username: "anna" });
  await set("first-word");
  expect((await login("second-word")).error).toMatchObject(invalid);
  expect((await login("first-word")).result).toMatchObject({ username: "anna" });
});

test("a crowd of guesses is a few lines of the log, which count the others", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "token=warn"' });
  await failOften(node, 300);
  const lines = node.node.ring.entries().filter(({ message }) => message === "refused credentials");
  expect(lines.length).toBeGreaterThanOrEqual(20);
  expect(lines.length).toBeLessThan(40);
  await Bun.sleep(1000);
  await node.refused("token_get", { token: "key:wrong" });
  const told = node.node.ring
    .entries()
    .filter(({ message }) => message === "refused credentials")
    .reduce((sum, { fields }) => sum + 1 + Number(fields.not_shown_before ?? 0), 0);
  expect(told).toBe(301);
});
