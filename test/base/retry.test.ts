import { expect, test } from "bun:test";
import { retry } from "../../src/base/clock.ts";
import { ManualClock } from "../support/manual-clock.ts";

test("work is tried again after the pauses that its caller chooses, until it succeeds", async () => {
  const clock = new ManualClock();
  const begun = clock.monotonic();
  const times: number[] = [];
  const result = retry(
    () => {
      times.push(clock.monotonic() - begun);
      if (times.length < 3) throw new Error(`failure ${times.length}`);
      return "done";
    },
    { pauseAfter: (_, failures) => failures * 100, clock },
  );
  await clock.advance(100);
  await clock.advance(199);
  expect(times).toEqual([0, 100]);
  await clock.advance(1);
  expect(await result).toBe("done");
  expect(times).toEqual([0, 100, 300]);
});

test("the last error is that of the work, once its caller gives up", async () => {
  let tried = 0;
  const work = async () => {
    tried += 1;
    throw new Error(`failure ${tried}`);
  };
  const pauseAfter = (error: unknown) => (String(error).endsWith("2") ? undefined : 0);
  await expect(retry(work, { pauseAfter })).rejects.toThrow("failure 2");
});

test("a signal ends a pause with its reason, and nothing is tried again", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  let tried = 0;
  const result = retry(
    () => {
      tried += 1;
      throw new Error("failure");
    },
    { pauseAfter: () => 1000, signal: stop.signal, clock },
  );
  await clock.advance(0);
  stop.abort(new Error("stopped"));
  await expect(result).rejects.toThrow("stopped");
  expect(tried).toBe(1);
});
