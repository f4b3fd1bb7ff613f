import { readlinkSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { usableMemory } from "../base/memory-budget.ts";
import { Pacer } from "../base/turns.ts";
import { counter, type Family, gauge, Histogram, histogram } from "./family.ts";

/** How often the delay of the event loop is measured. */
const delayIntervalMs = 100;
const delayBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const descriptorFolder = "/proc/self/fd";

/** ProcessMetrics measures this process. Descriptors are counted where the system lists them (Linux). */
export class ProcessMetrics {
  /** How late a timer fires, because something else kept the event loop busy. */
  readonly eventLoopDelay = new Histogram(delayBounds);
  #openDescriptors: number | undefined;
  #openSockets: number | undefined;
  #maxDescriptors: number | undefined;
  #timer: Timer | undefined;

  start(): void {
    let expectedAt = performance.now() + delayIntervalMs;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.eventLoopDelay.observe(Math.max(0, now - expectedAt) / 1000);
      expectedAt = now + delayIntervalMs;
    }, delayIntervalMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  cpuSeconds(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }

  residentBytes(): number {
    return process.memoryUsage.rss();
  }

  get openSockets(): number | undefined {
    return this.#openSockets;
  }

  /** Counts descriptors; with many of them other work gets the event loop in between. Rejects if none is left to read the list. */
  async measure(): Promise<void> {
    if (process.platform !== "linux") return;
    const names = await readdir(descriptorFolder);
    this.#openDescriptors = names.length;
    const pacer = new Pacer();
    let sockets = 0;
    for (const name of names) {
      if (isSocket(name)) sockets += 1;
      if (pacer.isDue) await pacer.nextTurn();
    }
    this.#openSockets = sockets;
    const limit = /^Max open files\s+(\d+)/m.exec(await readFile("/proc/self/limits", "utf8"))?.[1];
    this.#maxDescriptors = limit === undefined ? undefined : Number(limit);
  }

  /** Those of the process itself have the names that every Prometheus client gives them. */
  get families(): readonly Family[] {
    return [
      counter("process_cpu_seconds_total", "Processor time of the process, user and system.", () =>
        this.cpuSeconds(),
      ),
      gauge("process_resident_memory_bytes", "Resident memory of the process.", () => this.residentBytes()),
      gauge(
        "node_server_memory_limit_bytes",
        "Memory that the process may use: the limit of its cgroup, or that of the machine.",
        usableMemory,
      ),
      gauge("process_open_fds", "Open file descriptors.", () => this.#openDescriptors),
      gauge("process_max_fds", "The limit of open file descriptors.", () => this.#maxDescriptors),
      gauge(
        "process_start_time_seconds",
        "When the process started, in seconds since 1970.",
        () => performance.timeOrigin / 1000,
      ),
      gauge(
        "node_server_open_sockets",
        "Sockets of the process: client connections, idle ones included, listeners, and connections to PostgreSQL.",
        () => this.#openSockets,
      ),
      histogram(
        "node_server_event_loop_delay_seconds",
        `How late a timer of ${delayIntervalMs} ms fired: every request waits that long when the event loop is busy.`,
        this.eventLoopDelay,
      ),
    ];
  }
}

function isSocket(descriptor: string): boolean {
  try {
    return readlinkSync(`${descriptorFolder}/${descriptor}`).startsWith("socket:");
  } catch {
    // It was closed meanwhile.
    return false;
  }
}
