import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { exactCpuSeconds, ticksPerSecond } from "./process-clock.ts";

/** Whether the kernel reports processor time and memory of processes; only Linux does. */
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

/** resetPeak lets `peakMemoryOf` begin anew. */
export function resetPeak(pid: number): void {
  if (hasProc) writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** peakMemoryOf is the most that a process has had in memory, all pages that were present. */
export function peakMemoryOf(pid: number): number {
  return hasProc ? kilobytes(`/proc/${pid}/status`, "VmHWM") : Number.NaN;
}

function kilobytes(path: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(path, "utf8"));
  if (found === null) throw new Error(`${path} has no line ${name}`);
  return Number(found[1]) * 1024;
}

/**
 * cpuSeconds is the processor time, user and system, that a process and its descendants have used: all threads, also those that have
 * ended, and all children that have ended and were waited for.
 */
export function cpuSeconds(pid: number): number {
  if (!hasProc) return Number.NaN;
  // A child that ended just now is in its parent's figures from now on.
  const stat = unlessGone(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === undefined) return 0;
  // The second member is the program's name in parentheses and may hold spaces.
  const members = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = (...at: number[]) =>
    at.reduce((sum, each) => sum + Number(members[each]), 0) / ticksPerSecond;
  const own = exactCpuSeconds(pid) ?? ticks(11, 12);
  const threads = unlessGone(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const children = threads.flatMap(childrenOf(pid));
  return children.reduce((sum, child) => sum + cpuSeconds(Number(child)), own + ticks(13, 14));
}

/** The processes that a thread has started. */
function childrenOf(pid: number): (thread: string) => string[] {
  return (thread) =>
    unlessGone(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"))
      ?.split(" ")
      .filter(Boolean) ?? [];
}

function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

export interface Cores extends AsyncDisposable {
  /** The command that keeps a server on its core; empty where that cannot be done. */
  readonly server: readonly string[];
  /** How the processes are placed, for the report. */
  readonly description: string;
}

/** separateCores keeps this process, which makes the load, on one core until it is disposed, and gives servers another one. */
export function separateCores(): Cores {
  const allowed = hasProc && Bun.which("taskset") !== null ? allowedCores() : [];
  const [first, second] = allowed;
  if (first === undefined || second === undefined) {
    const description = "servers and load share all cores, because taskset or a second core is missing";
    console.log(`NOTE: ${description}.`);
    return { server: [], description, async [Symbol.asyncDispose]() {} };
  }
  place([second]);
  return {
    server: ["taskset", "-c", String(first)],
    description: "every server on one core, the load on another",
    async [Symbol.asyncDispose]() {
      place(allowed);
    },
  };
}

function place(cores: readonly number[]): void {
  Bun.spawnSync(["taskset", "-a", "-c", "-p", cores.join(), String(process.pid)]);
}

function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  return list.split(",").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  });
}

/** otherWork is the share of the processor that other programs use, from 0 to 1, looked at for a second. */
export async function otherWork(): Promise<number> {
  const before = processorTimes();
  await Bun.sleep(1000);
  const after = processorTimes();
  const share = (after.busy - before.busy) / (after.all - before.all);
  if (share > 0.1)
    console.log(
      `NOTE: other programs use ${Math.round(share * 100)} % of the processor; compare nothing but the ratios.`,
    );
  return share;
}

function processorTimes(): { busy: number; all: number } {
  const times = cpus().map((core) => core.times);
  const sum = (of: (core: (typeof times)[number]) => number) =>
    times.reduce((total, core) => total + of(core), 0);
  const busy = sum(({ user, nice, sys, irq }) => user + nice + sys + irq);
  return { busy, all: busy + sum(({ idle }) => idle) };
}
