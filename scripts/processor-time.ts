import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { codeOf } from "../src/base/fault.ts";

/** How a kind of control group counts the processor time of everything that was ever in it. */
const kinds = [
  {
    root: "/sys/fs/cgroup/cpuacct",
    seconds: (group: string) => Number(readFileSync(`${group}/cpuacct.usage`, "utf8")) / 1e9,
  },
  {
    root: "/sys/fs/cgroup",
    seconds: (group: string) =>
      Number(/^usage_usec (\d+)$/m.exec(readFileSync(`${group}/cpu.stat`, "utf8"))?.[1]) / 1e6,
  },
];

/**
 * ProcessorTime counts what programs and all their descendants use, in a control group of its own. Without the right to make one it
 * counts the programs and those descendants that were waited for; that leaves most of a browser out.
 */
export class ProcessorTime implements Disposable {
  readonly #kind = kinds.find(({ root }) => existsSync(`${root}/cgroup.procs`));
  readonly #group: string | undefined;
  #waitedForSeconds = 0;

  constructor() {
    this.#group = this.#makeGroup();
  }

  get isExact(): boolean {
    return this.#group !== undefined;
  }

  get seconds(): number {
    return this.#kind !== undefined && this.#group !== undefined
      ? this.#kind.seconds(this.#group)
      : this.#waitedForSeconds;
  }

  /** The command that runs `command` so that it is counted. */
  counted(command: readonly string[]): string[] {
    if (this.#group === undefined) return [...command];
    return ["sh", "-c", `echo $$ > ${this.#group}/cgroup.procs && exec "$@"`, "sh", ...command];
  }

  /** Counts a program that has ended, where there is no control group. */
  add(usage: Bun.ResourceUsage | undefined): void {
    this.#waitedForSeconds += Number(usage?.cpuTime.total ?? 0) / 1e6;
  }

  /** Processes that were counted and still run. */
  get running(): readonly number[] {
    if (this.#group === undefined) return [];
    return readFileSync(`${this.#group}/cgroup.procs`, "utf8").split("\n").filter(Boolean).map(Number);
  }

  [Symbol.dispose](): void {
    if (this.#group !== undefined) rmdirSync(this.#group);
  }

  #makeGroup(): string | undefined {
    if (this.#kind === undefined) return undefined;
    const group = `${this.#kind.root}/node-server-test-${process.pid}`;
    try {
      mkdirSync(group);
      return group;
    } catch (error) {
      if (["EACCES", "EPERM", "EROFS"].includes(codeOf(error) ?? "")) return undefined;
      throw error;
    }
  }
}
