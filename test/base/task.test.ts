import { expect, test } from "bun:test";
import { Task, type TaskLease } from "../../src/base/task.ts";
import { currentSpans, inSpan } from "../../src/log/span.ts";
import { ManualClock } from "../support/manual-clock.ts";

interface Run extends PromiseWithResolvers<number | undefined> {
  /** The time of the clock at which it began, in milliseconds since the task was started. */
  readonly at: number;
  readonly signal: AbortSignal;
}

type Options = Omit<ConstructorParameters<typeof Task>[0], "clock" | "run" | "failed">;

/** A task whose runs end when the story says so. */
function heldTask(options: Options = {}) {
  const clock = new ManualClock();
  const began = clock.monotonic();
  const runs: Run[] = [];
  const failures: unknown[] = [];
  const task = new Task({
    closeMs: 5,
    ...options,
    clock,
    run(signal) {
      const run = Promise.withResolvers<number | undefined>();
      runs.push({ ...run, at: clock.monotonic() - began, signal });
      return run.promise;
    },
    failed: (error) => void failures.push(error),
  });
  const end = async (run: number, againMs?: number) => {
    runs[run]?.resolve(againMs);
    await clock.advance(0);
  };
  return { clock, task, runs, failures, end, times: () => runs.map(({ at }) => at) };
}

test("a task runs at its interval from its first pause on, one run at a time", async () => {
  const { clock, task, end, times } = heldTask({ everyMs: 100, firstMs: 10 });
  task.start();
  await clock.advance(9);
  expect(times()).toEqual([]);
  await clock.advance(1);
  expect(times()).toEqual([10]);
  await clock.advance(30);
  await end(0);
  await clock.advance(70);
  expect(times()).toEqual([10, 110]);
  // This run takes until 345: two that would have begun meanwhile are left out.
  await clock.advance(235);
  await end(1);
  expect(times()).toEqual([10, 110]);
  await clock.advance(65);
  expect(times()).toEqual([10, 110, 410]);
  await task.close();
});

test("a run may ask for the next one sooner, and anybody may at any time", async () => {
  const { clock, task, end, times } = heldTask({ everyMs: 1000, firstMs: 0 });
  task.start();
  expect(times()).toEqual([0]);
  await end(0, 50);
  await clock.advance(50);
  expect(times()).toEqual([0, 50]);
  // A later time than the interval changes nothing.
  await end(1, 5000);
  await clock.advance(100);
  task.dueIn(20);
  task.dueIn(500);
  await clock.advance(20);
  expect(times()).toEqual([0, 50, 170]);
  // What is asked for while it runs begins after it.
  task.dueIn(0);
  expect(times()).toEqual([0, 50, 170]);
  await end(2);
  expect(times()).toEqual([0, 50, 170, 170]);
  await task.close();
});

test("a task without an interval runs only when somebody asks", async () => {
  const { clock, task, runs, end } = heldTask();
  task.start();
  await clock.advance(1e9);
  expect(runs).toHaveLength(0);
  task.dueIn(10);
  await clock.advance(10);
  expect(runs).toHaveLength(1);
  await end(0);
  await clock.advance(1e9);
  expect(runs).toHaveLength(1);
  await task.close();
});

test("a run that fails is told once, and the next one begins in its time", async () => {
  const { clock, task, runs, failures, times } = heldTask({ everyMs: 100, firstMs: 0 });
  task.start();
  const broken = new Error("broken");
  runs[0]?.reject(broken);
  await clock.advance(99);
  expect(failures).toEqual([broken]);
  await clock.advance(1);
  expect(times()).toEqual([0, 100]);
  await task.close();
});

test("close tells the run under way to end and waits for it, and none begins after it", async () => {
  const { clock, task, runs, failures } = heldTask({ everyMs: 100, firstMs: 0, closeMs: 60_000 });
  task.start();
  task.dueIn(0);
  let isClosed = false;
  const closing = task.close().then(() => {
    isClosed = true;
  });
  await clock.advance(0);
  expect(runs[0]?.signal.aborted).toBe(true);
  expect(isClosed).toBe(false);
  runs[0]?.reject(new Error("the run was told to end"));
  await closing;
  expect(failures).toEqual([]);
  task.dueIn(0);
  await clock.advance(1000);
  expect(runs).toHaveLength(1);
});

test("a run that does not end holds up close for a bounded time", async () => {
  const { task } = heldTask({ firstMs: 0 });
  await task.start().close();
});

test("what a task does is not told as part of the call that began it", async () => {
  const spans: unknown[] = [];
  const clock = new ManualClock();
  const task = new Task({
    clock,
    everyMs: 10,
    firstMs: 0,
    run: () => void spans.push(currentSpans()),
    failed: () => {},
  });
  inSpan("call", {}, () => task.start());
  await clock.advance(10);
  inSpan("call", {}, () => task.dueIn(0));
  await clock.advance(0);
  expect(spans).toEqual([[], [], []]);
  await task.close();
});

/** A lease that a story gives and takes. */
function heldLease() {
  const lease = { waitMs: 0, isHeld: true, released: [] as boolean[], renewed: 0 };
  const asked: TaskLease = {
    acquire: async () => lease.waitMs,
    async renew() {
      lease.renewed += 1;
      return lease.isHeld;
    },
    release: async ({ isDone }) => void lease.released.push(isDone),
    renewEveryMs: 10,
    lost: () => new Error("taken over"),
  };
  return { lease, asked };
}

test("with a lease, a task runs when it has it, renews it meanwhile and gives it back", async () => {
  const { lease, asked } = heldLease();
  const { clock, task, end, times } = heldTask({ firstMs: 0, lease: asked });
  lease.waitMs = 70;
  task.start();
  await clock.advance(69);
  expect(times()).toEqual([]);
  lease.waitMs = 0;
  await clock.advance(1);
  expect(times()).toEqual([70]);
  await clock.advance(35);
  expect([lease.renewed, lease.released]).toEqual([3, []]);
  await end(0);
  expect(lease.released).toEqual([true]);
  await clock.advance(100);
  expect(lease.renewed).toBe(3);
  await task.close();
});

test("a run whose lease was taken is told to end, and does not count as done", async () => {
  const { lease, asked } = heldLease();
  const { clock, task, runs, failures } = heldTask({ firstMs: 0, lease: asked });
  task.start();
  await clock.advance(10);
  expect(runs[0]?.signal.aborted).toBe(false);
  lease.isHeld = false;
  await clock.advance(10);
  expect(runs[0]?.signal.reason).toEqual(new Error("taken over"));
  runs[0]?.reject(runs[0].signal.reason);
  await clock.advance(0);
  expect(failures).toEqual([new Error("taken over")]);
  expect(lease.released).toEqual([false]);
  await task.close();
});
