import { expect, spyOn, test } from "bun:test";
import { FailureLimiter } from "../../src/auth/failure-limiter.ts";
import { postHead, Wire } from "../support/hostile.ts";
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

/** Longer than a test: what waits for it is not answered while the test runs. */
const rejectionDelayMs = 120_000;

test("an address has 20 failures in a minute without a delay; those after them have the same delay, however many", () => {
  const limiter = new FailureLimiter();
  const delays = (times: number, now: number) =>
    Array.from({ length: times }, (_, n) => limiter.failed("192.0.2.1", now + n).delayMs);
  expect(delays(20, 0)).toEqual(Array(20).fill(0));
  expect(delays(100, 20)).toEqual(Array(100).fill(1000));
  expect(limiter.failed("192.0.2.2", 200).delayMs).toBe(0);
  expect(limiter.failed("192.0.2.1", 59_999).delayMs).toBe(1000);
  expect(limiter.failed("192.0.2.1", 120_000).delayMs).toBe(0);
});

eachDatabase(
  "after 20 failures a rejection waits, and the right credentials of the same address pass it by",
  async (database) => {
    await using node = await testNode({ database, rejectionDelayMs });
    await node.newToken([], { username: "anna", password: "right-word" });
    const { finished, add } = watch();
    for (const { error } of await failOften(node)) expect(error).toMatchObject(invalid);
    await using waiting = await node.socket();
    void add("wrong secret", waiting.call("token_get", { token: "key:wrong" }));
    await waiting.call("node-server_hello");
    const right = await Promise.all([
      node.call("token_get", { token: node.superToken }),
      node.call("token_get", { token: "anna|right-word" }),
    ]);
    expect(right).toMatchObject([{ username: "root" }, { username: "anna" }]);
    expect(finished).toEqual([]);
  },
);

test("a rejection that was delayed is the same as one that was not", async () => {
  await using node = await testNode({ rejectionDelayMs: 1 });
  await failOften(node, 60);
  expect(await node.refused("token_get", { token: "key:wrong" })).toMatchObject(invalid);
});

test("on one WebSocket the right call overtakes the wrong one before it", async () => {
  await using node = await testNode({ rejectionDelayMs });
  await failOften(node);
  await using socket = await node.socket();
  const { finished, add } = watch();
  void add("wrong", socket.call("token_get", { token: "key:wrong" }));
  await add("right", socket.call("token_get", { token: node.superToken }));
  expect(finished).toEqual(["right"]);
});

test("right credentials without the permission, and texts that are no token, are no guesses", async () => {
  await using node = await testNode({ rejectionDelayMs });
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
  await using node = await testNode({ top: "jsonrpc_max_connections = 5\n", rejectionDelayMs });
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
  let pending = 60;
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
}, 180_000);

test("wrong passwords that wait to be checked take no place from others", async () => {
  await using node = await testNode({ top: "jsonrpc_max_connections = 10\n" });
  let pending = 10;
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

test("while an address guesses, one rejection in a second is logged, which counts the others", () => {
  const limiter = new FailureLimiter();
  const logged = (times: number, now: number) =>
    Array.from({ length: times }, () => limiter.failed("192.0.2.1", now).unlogged);
  expect(logged(20, 0)).toEqual(Array(20).fill(0));
  expect(logged(280, 0)).toEqual(Array(280).fill(undefined));
  expect(logged(2, 1000)).toEqual([280, undefined]);
  expect(logged(1, 2000)).toEqual([1]);
});

test("a crowd of guesses is a few lines of the log", async () => {
  await using node = await testNode({
    logging: 'memory_log_filter = "token=warn"',
    rejectionDelayMs: 1,
  });
  await failOften(node, 300);
  const lines = node.node.ring.entries().filter(({ message }) => message === "refused credentials");
  const counted = lines.reduce((sum, { fields }) => sum + 1 + Number(fields.not_shown_before ?? 0), 0);
  expect(lines.length).toBeGreaterThanOrEqual(20);
  expect(lines.length).toBeLessThan(100);
  expect(counted).toBeLessThanOrEqual(300);
});
