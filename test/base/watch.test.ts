import { expect, test } from "bun:test";
import { Watch } from "../../src/base/task.ts";
import { currentSpans, inSpan } from "../../src/log/span.ts";
import { ManualClock } from "../support/manual-clock.ts";

/** A watch of something whose problem the story sets. */
function watched() {
  const clock = new ManualClock();
  const found: { problem: string | undefined } = { problem: undefined };
  const told: unknown[] = [];
  const watch: Watch<string> = new Watch<string>({
    clock,
    everyMs: 100,
    check: () => watch.conclude(found.problem),
    lost: (problem) => told.push(["lost", problem, currentSpans().length]),
    restored: (lostMs) => told.push(["restored", lostMs, currentSpans().length]),
  });
  return { clock, found, told, watch };
}

test("a loss and a return are told once each, however often they are found", async () => {
  const { clock, found, told, watch } = watched();
  found.problem = "away";
  await clock.advance(100);
  found.problem = "still away";
  await clock.advance(100);
  expect([watch.isLost, watch.problem, watch.losses]).toEqual([true, "still away", 1]);
  found.problem = undefined;
  await clock.advance(100);
  await clock.advance(100);
  expect(told).toEqual([
    ["lost", "away", 0],
    ["restored", 200, 0],
  ]);
  expect([watch.isLost, watch.losses]).toEqual([false, 1]);
});

test("what a call finds is told as part of no call", () => {
  const { told, watch } = watched();
  inSpan("call", {}, () => {
    watch.conclude("away");
    watch.conclude(undefined);
  });
  expect(told).toEqual([
    ["lost", "away", 0],
    ["restored", 0, 0],
  ]);
});

test("after its end a watch neither checks nor tells", async () => {
  const { clock, found, told, watch } = watched();
  watch.close();
  found.problem = "away";
  await clock.advance(1000);
  watch.conclude("away");
  expect([told, watch.isLost]).toEqual([[], false]);
});
