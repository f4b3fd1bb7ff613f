import { existsSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { constants } from "node:os";

/** Facts that the kernel keeps about a process, read from `/proc`; Linux only. */

/** Resident memory of a process in MiB: now (`VmRSS`), or its highest value since the process began (`VmHWM`). */
export async function memoryMiB(
  { pid }: { readonly pid: number },
  which: "VmRSS" | "VmHWM" = "VmRSS",
): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}

/** Open descriptors of a process, each as the kernel names its target. */
export async function descriptors({ pid }: { readonly pid: number }): Promise<string[]> {
  const open: string[] = [];
  for (const number of await readdir(`/proc/${pid}/fd`)) {
    // A descriptor may be closed between the listing and the look.
    const target = await readlink(`/proc/${pid}/fd/${number}`).catch(() => undefined);
    if (target !== undefined) open.push(target);
  }
  return open;
}

/** Time in which threads of a process ran, or were ready to run and waited for a processor. */
export async function busySeconds({ pid }: { readonly pid: number }): Promise<number> {
  let nanoseconds = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    // A thread may end between the listing and the look.
    const times = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "0 0");
    const [ran, waited] = times.split(" ");
    nanoseconds += Number(ran) + Number(waited);
  }
  return nanoseconds / 1e9;
}

/** Processor time that all threads of a process have used so far. */
export async function cpuSeconds({ pid }: { readonly pid: number }): Promise<number> {
  const { own } = await cpuTimes(pid);
  return own;
}

/** Processor time of a process and of the processes that it has started, in seconds; 0 where there is no `/proc`. */
export async function secondsWithChildren({ pid }: { readonly pid: number }): Promise<number> {
  if (!existsSync("/proc/self/task")) return 0;
  const { own, ended } = await cpuTimes(pid);
  // A child may end between the listing and the look.
  const gone = { own: 0, ended: 0 };
  const children = await Promise.all(
    (await childrenOf(pid)).map((child) => cpuTimes(child).catch(() => gone)),
  );
  return children.reduce((sum, child) => sum + child.own + child.ended, own + ended);
}

/** The processes that a process has started and that have not ended. */
export async function childrenOf(pid: number): Promise<number[]> {
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return listed.split(" ").filter(Boolean).map(Number);
}

/** Seconds of a process, and of those of its children that have ended. */
async function cpuTimes(pid: number): Promise<{ readonly own: number; readonly ended: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The second field is the program's name in parentheses and may hold spaces; times are in hundredths of a second.
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11);
  return { own: (user + system) / 100, ended: (endedUser + endedSystem) / 100 };
}

/** Whether a signal was sent to a process and no thread of it has taken it yet. */
export async function isPending({ pid }: { readonly pid: number }, signal: NodeJS.Signals): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const pending = BigInt(`0x${/^ShdPnd:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  return ((pending >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}
