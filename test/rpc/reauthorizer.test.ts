import { expect, test } from "bun:test";
import { anonymous } from "../../src/auth/caller.ts";
import { anyToken } from "../../src/auth/need.ts";
import { Mailbox } from "../../src/base/mailbox.ts";
import { Session, SubscriptionReauthorizer, type WatchedSubscription } from "../../src/rpc/session.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";

type Query = PromiseWithResolvers<readonly boolean[]> & { readonly asked: readonly WatchedSubscription[] };

/** A subscription whose token is confirmed by queries that end when the test says so. */
function heldSubscription() {
  const clock = new ManualClock();
  const queries: Query[] = [];
  const sent: string[] = [];
  const errors: unknown[] = [];
  const reauthorizer = new SubscriptionReauthorizer(
    (asked) => {
      const query = { ...Promise.withResolvers<readonly boolean[]>(), asked };
      queries.push(query);
      return query.promise;
    },
    (error) => errors.push(error),
    clock,
  );
  const session = new Session((next) => {
    for (let text = next(); text !== undefined; text = next()) sent.push(text);
  });
  const { id, stop } = session.subscribe("log_stream");
  const caller = { ...anonymous, key: "key" };
  const admission = reauthorizer.watch(
    { id, session, caller, need: anyToken, lastEvent: () => "revoked" },
    stop,
  );
  const events = new Mailbox<string>(10);
  stop.addEventListener("abort", () => events.close());
  const pumped = session.pump(id, events, admission);
  return {
    clock,
    events,
    sent,
    errors,
    reauthorizer,
    async query(at: number): Promise<Query> {
      await until(`query ${at} began`, () => queries.length > at);
      const query = queries[at];
      if (query === undefined) throw new Error("there is no such query");
      return query;
    },
    async [Symbol.asyncDispose]() {
      session.close();
      for (const query of queries) query.resolve(query.asked.map(() => true));
      await pumped;
    },
  };
}

const heard = (sent: readonly string[]) => sent.map((text) => JSON.parse(text).params.result);

test("an event waits until a query has confirmed the token, and is not sent to a revoked one", async () => {
  await using held = heldSubscription();
  held.events.offer("first");
  const query = await held.query(0);
  await held.clock.advance(399);
  expect(held.sent).toEqual([]);
  query.resolve([true]);
  await until("the event was sent", () => held.sent.length > 0);
  expect(heard(held.sent)).toEqual(["first"]);
  // The lease has ended when the next query has taken more than a second.
  await held.clock.advance(1);
  const slow = await held.query(1);
  await held.clock.advance(1000);
  held.events.offer("secret");
  slow.resolve([false]);
  await until("the subscription has ended", () => held.sent.length >= 3);
  expect(heard(held.sent)).toEqual(["first", "revoked", undefined]);
});

test("a query that fails ends nothing and holds nothing up, and who asks meanwhile shares the next", async () => {
  await using held = heldSubscription();
  held.events.offer("first");
  (await held.query(0)).reject(new Error("away"));
  await until("the event was sent", () => held.sent.length > 0);
  expect([heard(held.sent), held.errors.length]).toEqual([["first"], 1]);
  const running = held.reauthorizer.recheck();
  const query = await held.query(1);
  const [one, two] = [held.reauthorizer.recheck(), held.reauthorizer.recheck()];
  expect(one).toBe(two);
  query.resolve([true]);
  await running;
  (await held.query(2)).resolve([true]);
  await Promise.all([one, two]);
});
