import { median, megabytes, ms, type Pace, printTable, ratio } from "./figures.ts";
import { hasProc, type Memory, memoryOf } from "./proc.ts";
import { type Bench, hello, post, start } from "./servers/node-server.ts";
import type { Program } from "./servers/program.ts";

const startTargetMs = 150;
const memoryTargetBytes = 80e6;
const callsBeforeSecondLook = 1000;

export interface StartLine {
  readonly what: string;
  readonly ours: string;
  readonly bare: string;
  readonly target: string;
  readonly met: boolean;
}

/** From spawn to the first answer, and the memory of a server that has not been called yet. */
export async function measureStart(bench: Bench, pace: Pace): Promise<StartLine[]> {
  const programs: Pair<Program> = [
    (await bench.site("start")).program,
    await bench.minimal("bare", bench.folder),
  ];
  const [us, floor] = await startTimes(programs, pace.starts);
  const lines: StartLine[] = [
    {
      what: "Start to first answer",
      ours: ms(us),
      bare: ms(floor),
      target: `under ${startTargetMs} ms`,
      met: us < startTargetMs,
    },
  ];
  if (!hasProc) {
    console.log("LEFT OUT: idle memory, which needs /proc (Linux)");
    return lines;
  }
  const [ourMemory, floorMemory] = await memories(programs, pace.settleSeconds);
  lines.push({
    what: "Idle memory (RSS)",
    ours: megabytes(ourMemory.rss),
    bare: megabytes(floorMemory.rss),
    target: "under 80 MB",
    met: ourMemory.rss < memoryTargetBytes,
  });
  return lines;
}

type Pair<T> = [ours: T, floor: T];

async function startTimes(programs: Pair<Program>, starts: number): Promise<Pair<number>> {
  const times: Pair<number[]> = [[], []];
  // The first of each fills the page cache and is not counted.
  for (let round = 0; round <= starts; round += 1) {
    for (const which of [0, 1] as const) {
      const time = await startTime(programs[which]);
      if (round > 0) times[which].push(time);
    }
  }
  const medians: Pair<number> = [median(times[0]), median(times[1])];
  printTable(`Spawn to first answered hello, ${starts} starts`, {
    head: ["", "median", "best", "worst", "ratio"],
    rows: programs.map(({ name }, at) => {
      const own = times[at] ?? [];
      const shown = [median(own), Math.min(...own), Math.max(...own)].map(ms);
      return [name, ...shown, ratio(median(own) / medians[1])];
    }),
  });
  return medians;
}

async function startTime(program: Program): Promise<number> {
  const begin = performance.now();
  await using _ = await start(program);
  return performance.now() - begin;
}

async function memories(programs: Pair<Program>, seconds: number): Promise<Pair<Memory>> {
  const before: Memory[] = [];
  const rows: string[][] = [];
  for (const program of programs) {
    await using server = await start(program);
    await Bun.sleep(seconds * 1000);
    const idle = memoryOf(server.pid);
    for (let calls = 0; calls < callsBeforeSecondLook; calls += 1) await post(server.port, hello);
    await Bun.sleep(seconds * 1000);
    const used = memoryOf(server.pid);
    before.push(idle);
    rows.push([program.name, ...[idle.rss, idle.pss, used.rss, used.pss].map(megabytes)]);
  }
  printTable(`Memory ${seconds} s after the first call, and ${seconds} s after 1,000 more`, {
    head: ["", "RSS idle", "PSS idle", "RSS used", "PSS used"],
    rows,
  });
  const [us, floor] = before;
  if (us === undefined || floor === undefined) throw new Error("a server's memory was not read");
  return [us, floor];
}
