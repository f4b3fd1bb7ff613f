import { expect, spyOn, test } from "bun:test";
import { FailureLimiter } from "../../src/auth/failure-limiter.ts";
import { postHead, Wire } from "../support/hostile.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode, type WireReply } from "../support/node.ts";
import { rejections } from "../support/shared-node.ts";
import { until } from "../support/until.ts";

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

test("an address has 20 failures in a minute without a delay; those after them have the same delay, however many", async () => {
  const clock = new ManualClock();
  const limiter = new FailureLimiter(clock);
  const delays = (times: number) => Array.from({ length: times }, () => limiter.failed("192.0.2.1").delayMs);
  expect(delays(20)).toEqual(Array(20).fill(0));
  await clock.advance(20);
  expect(delays(100)).toEqual(Array(100).fill(1000));
  expect(limiter.failed("192.0.2.2").delayMs).toBe(0);
  await clock.advance(59_979);
  expect(limiter.failed("192.0.2.1").delayMs).toBe(1000);
  await clock.advance(60_001);
  expect(limiter.failed("192.0.2.1").delayMs).toBe(0);
});

eachDatabase(
  "after 20 failures a rejection waits, and the right credentials of the same address pass it by",
  async (database) => {
    const clock = new ManualClock();
    await using node = await testNode({ database, clock });
    await node.newToken([], { username: "anna", password: "right-word" });
    const { finished, add } = watch();
    for (const { error } of await failOften(node)) expect(error).toMatchObject(invalid);
    await using waiting = await node.socket();
    const wrong = add("wrong secret", waiting.call("token_get", { token: "key:wrong" }));
    await waiting.call("node-server_hello");
    const right = await Promise.all([
      node.call("token_get", { token: node.superToken }),
      node.call("token_get", { token: "anna|right-word" }),
    ]);
    expect(right).toMatchObject([{ username: "root" }, { username: "anna" }]);
    // Its delay begins when the database has answered.
    await until("the wrong secret is rejected", () => rejections(node) > 20);
    await clock.advance(999);
    expect(finished).toEqual([]);
    await clock.advance(1);
    await wrong;
  },
);

test("a rejection that was delayed is the same as one that was not", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  await failOften(node);
  const late = node.refused("token_get", { token: "key:wrong" });
  expect(await clock.settle(late, 1000)).toMatchObject(invalid);
});

test("on one WebSocket the right call overtakes the wrong one before it", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ clock });
  await failOften(node);
  await using socket = await node.socket();
  const { finished, add } = watch();
  const wrong = add("wrong", socket.call("token_get", { token: "key:wrong" }));
  await add("right", socket.call("token_get", { token: node.superToken }));
  expect(finished).toEqual(["right"]);
  await clock.settle(wrong, 1000);
});

test("right credentials without the permission, and texts that are no token, are no guesses", async () => {
  await using node = await testNode({ clock: new ManualClock() });
  const token = await node.newToken([]);
  const expired = await node.newToken([], { timestamp_to: 1 });
  for (let i = 0; i < 10; i += 1) {
    await node.refused("token_list_all_tokens", { token });
    await node.refused("token_get", { token: expired });
    await node.refused("token_get", { token: "no token" });
  }
  expect(await node.refused("token_get", { token: "key:wrong" })).toMatchObject(invalid);
});

test("refusals that wait take no place from others", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ top: "jsonrpc_max_connections = 5\n", clock });
  for (let i = 0; i < 20; i += 1) await node.refused("token_get", { token: "key:wrong" });
  const { finished, add } = watch();
  using leaving = new DisposableStack();
  for (let i = 0; i < 20; i += 1) {
    const wire = leaving.use(await Wire.open(node.url));
    const body = JSON.stringify({ jsonrpc: "2.0", method: "token_get", params: ["key:wrong"], id: 1 });
    wire.write(postHead("Content-Type: application/json", `Content-Length: ${body.length}`) + body);
    void add("wrong", wire.hears(/HTTP/)).catch(() => {});
    expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
  }
  expect(finished).toEqual([]);
});

test("an unknown user name, and one without a password, cost as much as a wrong password", async () => {
  await using node = await testNode({ realPasswordCost: true });
  await node.newToken([], { username: "anna", password: "right-word" });
  await node.newToken([], { username: "wordless" });
  const verify = spyOn(Bun.password, "verify");
  try {
    for (const name of ["anna", "nobody", "wordless"]) {
      verify.mockClear();
      await node.refused("token_get", { token: `${name}|wrong-word` });
      const costs = verify.mock.calls.map(([, hash]) => String(hash).split("$").slice(0, 4).join("$"));
      expect([name, costs]).toEqual([name, ["$argon2id$v=19$m=19456,t=2,p=1"]]);
    }
  } finally {
    verify.mockRestore();
  }
});

test("a crowd of wrong passwords keeps no key and secret waiting", async () => {
  await using node = await testNode();
  let pending = 10;
  const crowd = Array.from({ length: pending }, (_, n) =>
    node.send("token_get", { token: `user${n}|wrong-word` }).finally(() => {
      pending -= 1;
    }),
  );
  // The others wait for their checks by then.
  await Promise.race(crowd);
  expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
  expect(pending).toBeGreaterThan(0);
  await Promise.all(crowd);
});

test("wrong passwords that wait to be checked take no place from others", async () => {
  await using node = await testNode({ top: "jsonrpc_max_connections = 6\n" });
  let pending = 6;
  const crowd = Array.from({ length: pending }, (_, n) =>
    node.send("token_get", { token: `user${n}|wrong-word` }).finally(() => {
      pending -= 1;
    }),
  );
  while (pending > 0)
    expect(await node.call("token_get", { token: node.superToken })).toMatchObject({ username: "root" });
  for (const { error } of await Promise.all(crowd)) expect(error).toMatchObject(invalid);
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

test("while an address guesses, one rejection in a second is logged, which counts the others", async () => {
  const clock = new ManualClock();
  const limiter = new FailureLimiter(clock);
  const logged = (times: number) => Array.from({ length: times }, () => limiter.failed("192.0.2.1").unlogged);
  expect(logged(20)).toEqual(Array(20).fill(0));
  expect(logged(280)).toEqual(Array(280).fill(undefined));
  await clock.advance(1000);
  expect(logged(2)).toEqual([280, undefined]);
  await clock.advance(1000);
  expect(logged(1)).toEqual([1]);
});

test("a crowd of guesses is a few lines of the log", async () => {
  const clock = new ManualClock();
  await using node = await testNode({ logging: 'memory_log_filter = "token=warn"', clock });
  await clock.settle(failOften(node, 300), 1000);
  const lines = node.node.ring.entries().filter(({ message }) => message === "refused credentials");
  const counted = lines.reduce((sum, { fields }) => sum + 1 + Number(fields.not_shown_before ?? 0), 0);
  expect(lines.length).toBeGreaterThanOrEqual(20);
  expect(lines.length).toBeLessThan(100);
  expect(counted).toBeLessThanOrEqual(300);
});
