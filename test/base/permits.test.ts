import { expect, test } from "bun:test";
import fc from "fast-check";
import { Permits } from "../../src/base/permits.ts";

/** Takes a permit and notes when it came. */
async function queue(permits: Permits, lane: string, name: string, order: string[]): Promise<void> {
  if (await permits.take(lane)) order.push(name);
}

test("as many as there are permits pass at once, the next waits for one to come back", async () => {
  const permits = new Permits(2);
  expect(await permits.take()).toBe(true);
  expect(await permits.take()).toBe(true);
  let entered = false;
  const third = permits.take().then((taken) => {
    entered = taken;
  });
  await Bun.sleep(5);
  expect(entered).toBe(false);
  permits.give();
  await third;
  expect(entered).toBe(true);
});

test("lanes take turns, so a crowd delays another lane by one place only", async () => {
  const permits = new Permits(1);
  await permits.take();
  const order: string[] = [];
  const all = [
    queue(permits, "crowd", "c1", order),
    queue(permits, "crowd", "c2", order),
    queue(permits, "crowd", "c3", order),
    queue(permits, "alice", "a1", order),
    queue(permits, "bob", "b1", order),
    queue(permits, "alice", "a2", order),
  ];
  for (let i = 0; i < all.length; i += 1) {
    permits.give();
    await Bun.sleep(0);
  }
  await Promise.all(all);
  expect(order).toEqual(["c1", "a1", "b1", "c2", "a2", "c3"]);
});

test("who waits longer than its patience leaves without a permit", async () => {
  const permits = new Permits(1);
  await permits.take();
  expect(await permits.take("", 10)).toBe(false);
  permits.give();
  expect(await permits.take("", 10)).toBe(true);
});

test("a permit goes to the next in line when the one before gave up", async () => {
  const permits = new Permits(1);
  await permits.take();
  const impatient = permits.take("lane", 5);
  const patient = permits.take("lane");
  expect(await impatient).toBe(false);
  permits.give();
  expect(await patient).toBe(true);
});

test("a permit that came in time is not taken back when the patience ends", async () => {
  const permits = new Permits(1);
  await permits.take();
  const served = permits.take("lane", 20);
  permits.give();
  expect(await served).toBe(true);
  await Bun.sleep(30);
  expect(await permits.take("lane", 5)).toBe(false);
  permits.give();
  expect(await permits.take("lane", 5)).toBe(true);
});

test("no permit is ever lost or doubled, whoever gives up when", async () => {
  const visit = fc.record({
    lane: fc.constantFrom("a", "b", "c"),
    patience: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
    stay: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(visit, { maxLength: 25 }),
      async (count, visits) => {
        const permits = new Permits(count);
        let inside = 0;
        let most = 0;
        await Promise.all(
          visits.map(async ({ lane, patience, stay }) => {
            if (!(await permits.take(lane, patience))) return;
            inside += 1;
            most = Math.max(most, inside);
            await Bun.sleep(stay);
            inside -= 1;
            permits.give();
          }),
        );
        expect(most).toBeLessThanOrEqual(count);
        for (let i = 0; i < count; i += 1) expect(await permits.take("after", 50)).toBe(true);
        expect(await permits.take("after", 1)).toBe(false);
      },
    ),
    { numRuns: 40 },
  );
});
