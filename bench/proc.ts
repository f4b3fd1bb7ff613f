import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** What the kernel says about a process; only Linux does. */
export const hasProc = process.platform === "linux";

export interface Memory {
  /** All pages that are present, shared ones counted whole. */
  readonly rss: number;
  /** Shared pages divided among those who share them. */
  readonly pss: number;
}

export function memoryOf(pid: number): Memory {
  return {
    rss: kilobytes(`/proc/${pid}/status`, "VmRSS"),
    pss: kilobytes(`/proc/${pid}/smaps_rollup`, "Pss"),
  };
}

function kilobytes(path: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(path, "utf8"));
  if (found === null) throw new Error(`${path} does not tell ${name}`);
  return Number(found[1]) * 1024;
}

/** The kernel counts in hundredths of a second, on every architecture that Bun runs on. */
const ticksPerSecond = 100;

/** Processor time that all threads of a process have used so far, in seconds. */
export function cpuSeconds(pid: number): number {
  if (!hasProc) return Number.NaN;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second member is the program's name in parentheses and may hold spaces.
  const members = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(members[11]) + Number(members[12])) / ticksPerSecond;
}

/** Commands that keep a server and its load on a core each; empty where that cannot be done. */
export function pins(): { readonly server: readonly string[]; readonly load: readonly string[] } {
  const [first, second] = hasProc && Bun.which("taskset") !== null ? allowedCores() : [];
  if (first === undefined || second === undefined) {
    console.log("LEFT OUT: server and load on a core each, which needs taskset and two cores");
    return { server: [], load: [] };
  }
  return { server: ["taskset", "-c", String(first)], load: ["taskset", "-c", String(second)] };
}

function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  return list.split(",").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  });
}

/** Says so when the machine has other work: the figures are then worth little. */
export async function noteOtherWork(): Promise<void> {
  const before = processorTimes();
  await Bun.sleep(1000);
  const after = processorTimes();
  const share = (after.busy - before.busy) / (after.all - before.all);
  if (share > 0.1)
    console.log(
      `NOTE: other programs use ${Math.round(share * 100)} % of the processor; compare nothing but the ratios.`,
    );
}

function processorTimes(): { busy: number; all: number } {
  const times = cpus().map((core) => core.times);
  const sum = (of: (core: (typeof times)[number]) => number) =>
    times.reduce((total, core) => total + of(core), 0);
  const busy = sum(({ user, nice, sys, irq }) => user + nice + sys + irq);
  return { busy, all: busy + sum(({ idle }) => idle) };
}
