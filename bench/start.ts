import { type Line, median, megabytes, ms, type Pace, printTable, ratio } from "./figures.ts";
import { hasProc, type Memory, memoryOf } from "./proc.ts";
import { type Bench, call, firstAnswer, hello, helloAnswer, launch, type Program } from "./servers.ts";

const startTargetMs = 150;
const memoryTargetBytes = 80e6;
const callsBeforeSecondLook = 1000;

/** From spawn to the first answer, and the memory of a server that nobody asks anything. */
export async function start({ ours, ignoring }: Bench, pace: Pace): Promise<Line[]> {
  const [us, floor] = await startTimes([ours, ignoring], pace.starts);
  const lines: Line[] = [
    {
      what: "Start to first answer",
      ours: ms(us),
      bare: ms(floor),
      target: { words: `under ${startTargetMs} ms`, met: us < startTargetMs },
    },
  ];
  if (!hasProc) {
    console.log("LEFT OUT: idle memory, which needs /proc (Linux)");
    return lines;
  }
  const [ourMemory, floorMemory] = await memories([ours, ignoring], pace.settleSeconds);
  lines.push({
    what: "Idle memory (RSS)",
    ours: megabytes(ourMemory.rss),
    bare: megabytes(floorMemory.rss),
    target: { words: "under 80 MB", met: ourMemory.rss < memoryTargetBytes },
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
  printTable(
    `Spawn to first answered hello, ${starts} starts`,
    ["", "median", "best", "worst", "ratio"],
    programs.map(({ name }, at) => {
      const own = times[at] ?? [];
      return [name, median(own), Math.min(...own), Math.max(...own)]
        .map((cell) => (typeof cell === "number" ? ms(cell) : cell))
        .concat(ratio(median(own) / medians[1]));
    }),
  );
  return medians;
}

async function startTime(program: Program): Promise<number> {
  const begin = performance.now();
  await using server = launch(program);
  const answer = await firstAnswer(server);
  const time = performance.now() - begin;
  if (answer !== helloAnswer) throw new Error(`${program.name} answered ${answer}`);
  return time;
}

async function memories(programs: Pair<Program>, seconds: number): Promise<Pair<Memory>> {
  const before: Memory[] = [];
  const rows: string[][] = [];
  for (const program of programs) {
    await using server = launch(program);
    await Bun.sleep(seconds * 1000);
    const idle = memoryOf(server.pid);
    for (let calls = 0; calls < callsBeforeSecondLook; calls += 1) await call(server.url, hello);
    await Bun.sleep(seconds * 1000);
    const used = memoryOf(server.pid);
    before.push(idle);
    rows.push([program.name, ...[idle.rss, idle.pss, used.rss, used.pss].map(megabytes)]);
  }
  printTable(
    `Memory ${seconds} s after start without a request, and ${seconds} s after 1,000 hello calls`,
    ["", "RSS idle", "PSS idle", "RSS used", "PSS used"],
    rows,
  );
  const [us, floor] = before;
  if (us === undefined || floor === undefined) throw new Error("a server's memory was not read");
  return [us, floor];
}
