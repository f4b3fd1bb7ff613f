import { parseArgs } from "node:util";
import { consolePages } from "./console.ts";
import { deploy } from "./deploy.ts";
import type { Line, Pace } from "./figures.ts";
import { log } from "./log.ts";
import { noteOtherWork } from "./proc.ts";
import { updateReadme } from "./readme.ts";
import { rpc } from "./rpc.ts";
import { type Bench, openBench } from "./servers.ts";
import { sql } from "./sql.ts";
import { start } from "./start.ts";
import { staticFiles } from "./static.ts";
import { storage } from "./storage.ts";
import { webdav } from "./webdav.ts";

interface Benchmark {
  readonly run: (bench: Bench, pace: Pace) => Promise<Line[]>;
  /** How many lines it has for the README when nothing is left out. */
  readonly lines: number;
}

/** In the order of the README's table. */
const benchmarks: Readonly<Record<string, Benchmark>> = {
  start: { run: start, lines: 2 },
  rpc: { run: rpc, lines: 2 },
  log: { run: log, lines: 0 },
  sql: { run: sql, lines: 0 },
  storage: { run: storage, lines: 0 },
  static: { run: staticFiles, lines: 0 },
  deploy: { run: deploy, lines: 0 },
  webdav: { run: webdav, lines: 0 },
  console: { run: consolePages, lines: 0 },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(benchmarks, name));
if (unknown.length > 0) {
  console.error(
    `No benchmark is called ${unknown.join(", ")}; there are: ${Object.keys(benchmarks).join(", ")}.`,
  );
  process.exit(2);
}

/** A quick run shows the trend: it judges nothing and leaves the README alone. */
const pace: Pace = values.quick
  ? { quick: true, rounds: 2, roundSeconds: 1, starts: 5, settleSeconds: 2 }
  : { quick: false, rounds: 7, roundSeconds: 3, starts: 20, settleSeconds: 5 };

const lines: Line[] = [];
{
  await using bench = await openBench();
  for (const [name, { run }] of Object.entries(benchmarks)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    await noteOtherWork();
    lines.push(...(await run(bench, pace)));
  }
}
if (!pace.quick) await conclude();

async function conclude(): Promise<void> {
  console.log();
  for (const { what, target } of lines) {
    if (target !== undefined) console.log(`${target.met ? "met   " : "MISSED"}  ${what}: ${target.words}`);
  }
  if (lines.some(({ target }) => target?.met === false)) process.exitCode = 1;
  const whole = Object.values(benchmarks).reduce((sum, benchmark) => sum + benchmark.lines, 0);
  // Half a table would show the figures of two runs under one date.
  console.log(
    lines.length === whole
      ? await updateReadme(lines)
      : "The README's table is left alone: it takes a run of everything.",
  );
}
