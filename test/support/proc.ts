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
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The second field is the program's name in parentheses and may hold spaces; times are in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Whether a signal was sent to a process and no thread of it has taken it yet. */
export async function isPending({ pid }: { readonly pid: number }, signal: NodeJS.Signals): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const pending = BigInt(`0x${/^ShdPnd:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  return ((pending >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}
