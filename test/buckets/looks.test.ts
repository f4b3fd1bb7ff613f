import { expect, test } from "bun:test";
import { BucketCache, type BucketKey } from "../../src/buckets/bucket-cache.ts";
import { Heads } from "../../src/buckets/trees/rows/heads.ts";
import { Freshness, type Stamp } from "../../src/db/freshness.ts";
import type { BucketState } from "../../src/db/rows/bucket-rows.ts";
import { unavailable } from "../../src/db/unavailable.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";

interface HeldLook extends PromiseWithResolvers<ReadonlyMap<BucketKey, BucketState>> {
  readonly keys: readonly BucketKey[];
  readonly begun: Stamp;
}

const stateOf = (name: string, version: number): BucketState => ({
  record: {
    id: 1,
    name,
    path: name,
    is_http_root: false,
    cors: false,
    enable: true,
    public: true,
    hosts: [],
    clean_urls: false,
  },
  head: { version, root: "root", at: 0 },
});

/** What a node knows of a database that has to be asked. */
const polled = (clock: ManualClock, staleMs: number) =>
  new Freshness({ canReadSync: false, dataVersion: undefined, clock }, staleMs);

/** A cache whose looks end when the test says so. */
function heldCache({ staleMs = 60_000 } = {}) {
  const clock = new ManualClock();
  const looks: HeldLook[] = [];
  const cache = new BucketCache(
    (keys, begun) => {
      const look = Promise.withResolvers<ReadonlyMap<BucketKey, BucketState>>();
      looks.push({ keys: [...keys], begun, ...look });
      return look.promise;
    },
    polled(clock, staleMs),
  );
  return {
    cache,
    clock,
    /** Waits for a look to begin. */
    look: (at: number): Promise<HeldLook> => until(`look ${at} began`, () => looks[at]),
    finish: (look: HeldLook, version: number) =>
      look.resolve(new Map(look.keys.map((key) => [key, stateOf(String(key), version)]))),
    looks,
    [Symbol.dispose]: () => cache.poll.close(),
  };
}

const versionOf = async (look: Promise<BucketState | undefined>) => (await look)?.head?.version;

test("a look serves all who asked before it began, and nobody who asked later", async () => {
  using held = heldCache();
  const [one, two] = [versionOf(held.cache.read("a")), versionOf(held.cache.read("a"))];
  const first = await held.look(0);
  // The first look has been sent, so what it will find may be older than these questions.
  const later = [versionOf(held.cache.read("a")), versionOf(held.cache.read("b"))];
  await held.clock.advance(1);
  expect(held.looks).toHaveLength(1);
  held.finish(first, 1);
  const second = await held.look(1);
  expect(second.keys).toEqual(["a", "b"]);
  held.finish(second, 2);
  expect(await Promise.all([one, two, ...later])).toEqual([1, 1, 2, 2]);
});

test("a plain request whose bucket is not known waits for a look of its own", async () => {
  using held = heldCache();
  const strict = held.cache.read("a");
  const first = await held.look(0);
  const record = held.cache.loadOrStale("a");
  await held.clock.advance(1);
  held.finish(first, 1);
  const second = await held.look(1);
  expect(second.begun.readAt).toBeGreaterThan(first.begun.readAt);
  held.finish(second, 1);
  expect(await record).toBe((await strict)?.record);
});

test("a lease counts from when its look began, however late the answer came", async () => {
  using held = heldCache();
  const asked = held.cache.read("a");
  const look = await held.look(0);
  await held.clock.advance(1000);
  held.finish(look, 1);
  const record = (await asked)?.record;
  expect(record && held.cache.isCurrent(record)).toBe(false);
});

test("buckets that are asked for are looked at again together, and a look for one puts the others off by nothing", async () => {
  using held = heldCache();
  const records: unknown[] = [];
  for (const name of ["a", "b"]) {
    const asked = held.cache.read(name);
    held.finish(await held.look(records.length), 1);
    records.push((await asked)?.record);
  }
  for (let at = 2; at <= 4; at += 1) {
    await held.clock.advance(100);
    const asked = held.cache.read("a");
    held.finish(await held.look(at), 1);
    await asked;
  }
  await held.clock.advance(99);
  expect(held.looks).toHaveLength(5);
  await held.clock.advance(1);
  const poll = await held.look(5);
  expect([...poll.keys].sort()).toEqual(["a", "b"]);
  held.finish(poll, 1);
  // The lease of the first look has ended, that of the poll has not.
  await held.clock.advance(999);
  const [, second] = records as [unknown, BucketState["record"]];
  expect(held.cache.isCurrent(second)).toBe(true);
});

test("a record that this process changed is not answered by a look that began before", async () => {
  using held = heldCache();
  const asked = held.cache.read("a");
  const first = await held.look(0);
  held.cache.changed({ isCertain: true });
  held.finish(first, 1);
  const record = (await asked)?.record;
  expect(record && held.cache.isCurrent(record)).toBe(false);
});

test("while the database is away the last record is used for its time, and by no look", async () => {
  using held = heldCache();
  const asked = held.cache.read("a");
  held.finish(await held.look(0), 1);
  const record = (await asked)?.record;
  const failing = held.cache.read("a");
  (await held.look(1)).reject(unavailable(undefined));
  await expect(failing).rejects.toThrow();
  held.cache.changed({ isCertain: false });
  expect(await held.cache.loadOrStale("a")).toBe(record);
  expect(record && held.cache.isCurrent(record)).toBe(true);
  held.cache.changed({ isCertain: true });
  expect(record && held.cache.isCurrent(record)).toBe(false);
});

const at = (readAt: number): Stamp => ({ readAt, epoch: undefined });
const polledHeads = (clock: ManualClock, staleMs = 0) =>
  new Heads({ readSync: () => undefined }, polled(clock, staleMs));
const head = (version: number, root = "root") => ({ version, root, at: 0 });

test("of two looks the one that began later counts, whichever ends first", async () => {
  const clock = new ManualClock();
  const heads = polledHeads(clock);
  const now = clock.monotonic();
  heads.headRead("site", head(6), at(now - 10));
  heads.headRead("site", head(5), at(now - 20));
  expect([heads.isCurrent("site", head(5)), heads.isCurrent("site", head(6))]).toEqual([false, true]);
});

test("a look that began before a change of this node does not bring the old version back, a later one decides", async () => {
  const clock = new ManualClock();
  const heads = polledHeads(clock);
  heads.headRead("site", head(5), at(clock.monotonic()));
  const begunBefore = clock.monotonic();
  heads.saw("site", head(6));
  heads.headRead("site", head(5), at(begunBefore));
  expect([heads.isCurrent("site", head(5)), heads.isCurrent("site", head(6))]).toEqual([false, true]);
  await clock.advance(1);
  heads.headRead("site", head(5), at(clock.monotonic()));
  expect([heads.isCurrent("site", head(5)), heads.isCurrent("site", head(6))]).toEqual([true, false]);
});

test("a bucket that was emptied meanwhile has no current version until a later look", async () => {
  const clock = new ManualClock();
  const heads = polledHeads(clock);
  const begunAt = clock.monotonic();
  heads.saw("site", head(7, "new root"));
  heads.headRead("site", head(6), at(begunAt));
  const states = [head(6), head(7), head(7, "new root")];
  expect(states.map((state) => heads.isCurrent("site", state))).toEqual([false, false, false]);
  await clock.advance(1);
  heads.headRead("site", head(7, "new root"), at(clock.monotonic()));
  expect(states.map((state) => heads.isCurrent("site", state))).toEqual([false, false, true]);
});

test("a version is current for a second after its look began, and for longer only while the database is away", async () => {
  const clock = new ManualClock();
  const heads = polledHeads(clock, 60_000);
  heads.headRead("site", head(5), at(clock.monotonic() - 1001));
  expect(heads.isCurrent("site", head(5))).toBe(false);
  heads.freshness.asked({ isAnswered: false });
  expect(heads.isCurrent("site", head(5))).toBe(true);
  heads.freshness.asked({ isAnswered: true });
  expect(heads.isCurrent("site", head(5))).toBe(false);
  heads.headRead("site", head(5), at(clock.monotonic()));
  expect(heads.isCurrent("site", head(5))).toBe(true);
});
