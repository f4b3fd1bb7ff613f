import { expect, test } from "bun:test";
import fc from "fast-check";
import { FairSemaphore } from "../../src/base/concurrency.ts";

/** Takes a permit and notes when it came. */
async function queue(semaphore: FairSemaphore, key: string, name: string, order: string[]): Promise<void> {
  if (await semaphore.acquire({ key })) order.push(name);
}

test("as many as there are permits pass at once, the next waits for one to come back", async () => {
  const semaphore = new FairSemaphore(2);
  expect(await semaphore.acquire()).toBe(true);
  expect(await semaphore.acquire()).toBe(true);
  let entered = false;
  const third = semaphore.acquire().then((taken) => {
    entered = taken;
  });
  await Bun.sleep(5);
  expect(entered).toBe(false);
  semaphore.release();
  await third;
  expect(entered).toBe(true);
});

test("keys take turns, so a crowd with one key delays another by one place only", async () => {
  const semaphore = new FairSemaphore(1);
  await semaphore.acquire();
  const order: string[] = [];
  const all = [
    queue(semaphore, "crowd", "c1", order),
    queue(semaphore, "crowd", "c2", order),
    queue(semaphore, "crowd", "c3", order),
    queue(semaphore, "alice", "a1", order),
    queue(semaphore, "bob", "b1", order),
    queue(semaphore, "alice", "a2", order),
  ];
  for (let i = 0; i < all.length; i += 1) {
    semaphore.release();
    await Bun.sleep(0);
  }
  await Promise.all(all);
  expect(order).toEqual(["c1", "a1", "b1", "c2", "a2", "c3"]);
});

test("a wait that is longer than its time limit ends without a permit", async () => {
  const semaphore = new FairSemaphore(1);
  await semaphore.acquire();
  expect(await semaphore.acquire({ timeoutMs: 10 })).toBe(false);
  semaphore.release();
  expect(await semaphore.acquire({ timeoutMs: 10 })).toBe(true);
});

test("a permit goes to the next in line when the one before gave up", async () => {
  const semaphore = new FairSemaphore(1);
  await semaphore.acquire();
  const impatient = semaphore.acquire({ key: "one", timeoutMs: 5 });
  const patient = semaphore.acquire({ key: "one" });
  expect(await impatient).toBe(false);
  semaphore.release();
  expect(await patient).toBe(true);
});

test("a permit that came in time is not taken back when the patience ends", async () => {
  const semaphore = new FairSemaphore(1);
  await semaphore.acquire();
  const served = semaphore.acquire({ key: "one", timeoutMs: 20 });
  semaphore.release();
  expect(await served).toBe(true);
  await Bun.sleep(30);
  expect(await semaphore.acquire({ key: "one", timeoutMs: 5 })).toBe(false);
  semaphore.release();
  expect(await semaphore.acquire({ key: "one", timeoutMs: 5 })).toBe(true);
});

test("no permit is ever lost or doubled, whoever gives up when", async () => {
  const visit = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    timeoutMs: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
    stay: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(visit, { maxLength: 25 }),
      async (count, visits) => {
        const semaphore = new FairSemaphore(count);
        let inside = 0;
        let most = 0;
        await Promise.all(
          visits.map(async ({ key, timeoutMs, stay }) => {
            if (!(await semaphore.acquire({ key, timeoutMs }))) return;
            inside += 1;
            most = Math.max(most, inside);
            await Bun.sleep(stay);
            inside -= 1;
            semaphore.release();
          }),
        );
        expect(most).toBeLessThanOrEqual(count);
        for (let i = 0; i < count; i += 1)
          expect(await semaphore.acquire({ key: "after", timeoutMs: 50 })).toBe(true);
        expect(await semaphore.acquire({ key: "after", timeoutMs: 1 })).toBe(false);
      },
    ),
    { numRuns: 40 },
  );
});
