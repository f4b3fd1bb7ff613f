import { expect, test } from "bun:test";
import { atMost, type Clock, orAborted, systemClock } from "../../src/base/clock.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";

interface TestedClock {
  readonly clock: Clock;
  /** Lets `ms` pass, after which the condition holds. */
  pass(ms: number, isOver: () => boolean): Promise<unknown>;
}

/** The promises of a clock hold for the machine's own, for one that a story turns, and for one that it lets run. */
const clocks: Record<string, () => TestedClock> = {
  "the system": () => ({ clock: systemClock, pass: (_, isOver) => until("the time has passed", isOver) }),
  "a story": () => {
    const clock = new ManualClock();
    return { clock, pass: (ms) => clock.advance(ms) };
  },
  "a story that lets it run": () => {
    const clock = new ManualClock();
    clock.run();
    return { clock, pass: (_, isOver) => until("the time has passed", isOver) };
  },
};

for (const [whose, make] of Object.entries(clocks)) {
  test(`a timer runs once, one that repeats runs until it is disposed, with the clock of ${whose}`, async () => {
    const { clock, pass } = make();
    const ran: string[] = [];
    clock.after(20, () => ran.push("once"));
    const cancelled = clock.after(10, () => ran.push("cancelled"));
    const repeated = clock.every(30, () => {
      ran.push("repeated");
      if (ran.length === 3) repeated[Symbol.dispose]();
    });
    cancelled[Symbol.dispose]();
    expect(ran).toEqual([]);
    await pass(60, () => ran.length === 3);
    expect(ran).toEqual(["once", "repeated", "repeated"]);
  });

  test(`both times go on while a sleep lasts, which a signal ends, with the clock of ${whose}`, async () => {
    const { clock, pass } = make();
    const begin = { now: clock.now(), monotonic: clock.monotonic() };
    const stop = new AbortController();
    const long = clock.sleep(3_600_000, stop.signal);
    let isOver = false;
    void clock.sleep(20).then(() => {
      isOver = true;
    });
    await pass(20, () => isOver);
    expect(isOver).toBe(true);
    expect(clock.now() - begin.now).toBeGreaterThanOrEqual(19);
    expect(clock.monotonic() - begin.monotonic).toBeGreaterThanOrEqual(19);
    stop.abort();
    await long;
    await clock.sleep(3_600_000, stop.signal);
  });

  test(`work that takes too long is not waited for, with the clock of ${whose}`, async () => {
    const { clock, pass } = make();
    expect(await atMost(Promise.resolve("done"), { clock, ms: 1000, late: "late" })).toBe("done");
    let result: unknown;
    void atMost(new Promise(() => {}), { clock, ms: 20, late: "late" }).then((late) => {
      result = late;
    });
    await pass(20, () => result !== undefined);
    expect(result).toBe("late");
  });
}

test("a clock that jumps runs every timer that is due once, and one whose wall time is set runs none", async () => {
  const clock = new ManualClock();
  let ran = 0;
  clock.every(10, () => ran++);
  await clock.jump(1000);
  expect(ran).toBe(1);
  clock.set(0);
  expect(clock.now()).toBe(0);
  await clock.advance(9);
  expect(ran).toBe(1);
  expect(clock.now()).toBe(9);
  await clock.advance(1);
  expect(ran).toBe(2);
});

test("a clock that ran goes on from there when it stands again", async () => {
  const clock = new ManualClock();
  const begin = clock.monotonic();
  let ran = 0;
  clock.every(5, () => ran++);
  {
    using _running = clock.run();
    await until("the clock runs", () => ran > 0);
  }
  const stood = clock.monotonic();
  expect(stood).toBeGreaterThanOrEqual(begin + 5);
  // On a busy machine the timer may have been due when the clock stopped.
  await clock.advance(0);
  const before = ran;
  await clock.advance(5);
  expect([ran, clock.monotonic()]).toEqual([before + 1, stood + 5]);
});

test("work is waited for until a signal fires, and rejects with its reason then", async () => {
  const stop = new AbortController();
  expect(await orAborted(Promise.resolve("done"), stop.signal)).toBe("done");
  const work = Promise.withResolvers<string>();
  const waiting = orAborted(work.promise, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  // A failure that comes too late is nobody's.
  work.reject(new Error("late"));
  await expect(orAborted(new Promise(() => {}), stop.signal)).rejects.toThrow("stopped");
});
