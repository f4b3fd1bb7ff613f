import { expect, test } from "bun:test";
import fc from "fast-check";
import { Mailbox } from "../../src/base/mailbox.ts";

test("a mailbox hands its items out in the order they came", async () => {
  const mailbox = new Mailbox<number>(3);
  for (const item of [1, 2, 3]) expect(mailbox.offer(item)).toBe(true);
  const taken: number[] = [];
  for await (const item of mailbox) {
    taken.push(item);
    if (taken.length === 3) break;
  }
  expect(taken).toEqual([1, 2, 3]);
});

test("a full mailbox refuses the newest item and keeps the older ones", async () => {
  const mailbox = new Mailbox<string>(2);
  expect(["a", "b", "c", "d"].map((item) => mailbox.offer(item))).toEqual([true, true, false, false]);
  const reader = mailbox[Symbol.asyncIterator]();
  expect((await reader.next()).value).toBe("a");
  expect(mailbox.offer("e")).toBe(true);
  expect(mailbox.offer("f")).toBe(false);
  expect((await reader.next()).value).toBe("b");
  expect((await reader.next()).value).toBe("e");
});

test("a reader of an empty mailbox waits for the next item", async () => {
  const mailbox = new Mailbox<string>(1);
  const reader = mailbox[Symbol.asyncIterator]();
  let arrived = false;
  const next = reader.next().then((result) => {
    arrived = true;
    return result;
  });
  await Bun.sleep(5);
  expect(arrived).toBe(false);
  mailbox.offer("late");
  expect(await next).toEqual({ done: false, value: "late" });
});

test("a waiting reader gets what comes within a tick at once, unless the mailbox fills up before", async () => {
  const mailbox = new Mailbox<number>(10);
  const takeAll = async () => {
    await mailbox.arrival();
    const taken: number[] = [];
    for (let item = mailbox.take(); item !== undefined; item = mailbox.take()) taken.push(item);
    return taken;
  };
  const together = takeAll();
  for (const item of [1, 2, 3]) {
    mailbox.offer(item);
    await Promise.resolve();
  }
  expect(await together).toEqual([1, 2, 3]);
  const early = takeAll();
  for (const item of [1, 2, 3, 4, 5]) mailbox.offer(item);
  await Promise.resolve();
  mailbox.offer(6);
  await Bun.sleep(0);
  const [first] = await Promise.all([early, mailbox.arrival()]);
  expect(first.slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
});

test("closing ends a waiting reader, drops what was not taken, and refuses everything after", async () => {
  const waiting = new Mailbox<string>(1);
  const end = waiting[Symbol.asyncIterator]().next();
  await Bun.sleep(0);
  waiting.close();
  expect(await end).toEqual({ done: true, value: undefined });

  const filled = new Mailbox<string>(3);
  filled.offer("one");
  filled.offer("two");
  const reader = filled[Symbol.asyncIterator]();
  expect((await reader.next()).value).toBe("one");
  filled.close();
  expect((await reader.next()).done).toBe(true);
  expect(filled.offer("three")).toBe(false);
});

test("whatever the pace of writer and reader, nothing accepted is lost, doubled or reordered", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 20 }),
      async (capacity, bursts) => {
        const mailbox = new Mailbox<number>(capacity);
        const accepted: number[] = [];
        const read: number[] = [];
        const reading = (async () => {
          for await (const item of mailbox) read.push(item);
        })();
        let number = 0;
        for (const burst of bursts) {
          for (let i = 0; i < burst; i += 1) {
            number += 1;
            if (mailbox.offer(number)) accepted.push(number);
          }
          await new Promise(setImmediate);
        }
        mailbox.close();
        await reading;
        expect(read).toEqual(accepted);
        expect(accepted.length).toBe(bursts.reduce((sum, burst) => sum + Math.min(burst, capacity), 0));
      },
    ),
    { numRuns: 50 },
  );
});
