import { expect, test } from "bun:test";
import { Context, type Output } from "../../src/cli/context.ts";
import { openMeter } from "../../src/cli/terminal/progress.ts";
import { ManualClock } from "../support/manual-clock.ts";

function progressOf(load: { readonly bytes: number; readonly files: number }, { isTTY = false } = {}) {
  let written = "";
  const err: Output = {
    isTTY,
    write(data) {
      written += data;
    },
  };
  const clock = new ManualClock();
  const surroundings = { env: {}, cwd: "/", home: "/", out: err, err, terminal: undefined, clock };
  const ctx = new Context({ ...surroundings, input: () => new Blob().stream(), onSignal: () => () => {} });
  return { clock, meter: openMeter(ctx, "pushing", load), written: () => written };
}

test("a transfer of less than a second shows no progress, and a longer one does", async () => {
  for (const [ms, shown] of [
    [999, ""],
    [1000, "pushing: 100 %, 2 B of 2 B, 1 of 1 file\n"],
  ] as const) {
    const { clock, meter, written } = progressOf({ bytes: 2, files: 1 });
    meter.add(2);
    await clock.advance(ms);
    meter.fileDone();
    meter.end();
    expect(written()).toBe(shown);
  }
});

test("progress off a terminal is in one style, and its percent is that of the bytes beside it", async () => {
  const { clock, meter, written } = progressOf({ bytes: 42_713_000, files: 3361 });
  await clock.advance(1000);
  for (let file = 0; file < 3360; file += 1) {
    meter.add(1000);
    meter.fileDone();
  }
  meter.add(42_713_000 - 3_360_000);
  meter.fileDone();
  meter.end();
  const lines = written().trimEnd().split("\n");
  for (const line of lines) {
    const [, percent, mega] =
      /^pushing: (\d+) %, ([\d.]+) MB of 42\.7 MB, [\d,]+ of 3,361 files(?:, \d+ s left)?$/.exec(line) ?? [];
    expect([line, ((Number(mega) + 0.05) / 42.713) * 100 >= Number(percent)]).toEqual([line, true]);
  }
  expect(lines.at(-1)).toBe("pushing: 100 %, 42.7 MB of 42.7 MB, 3,361 of 3,361 files");
  expect(lines.some((line) => line.includes(" 3,360 of 3,361 files"))).toBe(true);
});

test("on a terminal a bar shows how far a transfer is", async () => {
  const { clock, meter, written } = progressOf({ bytes: 2, files: 2 }, { isTTY: true });
  await clock.advance(1000);
  meter.add(1);
  expect(written()).toMatch(/^\rpushing \[#{12} {13}\] 50 % {2}1 B of 2 B, 0 of 2 files.*\x1b\[K$/);
  meter.fileDone();
  meter.add(1);
  meter.fileDone();
  meter.end();
  expect(written()).toMatch(/\rpushing \[#{25}\] 100 % {2}2 B of 2 B, 2 of 2 files.*\x1b\[K\n$/);
});
