import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { type Attacker, type AttackOptions, type AttackReport, launchAttack } from "./attackers.ts";
import { type InnocentReport, innocentClient } from "./innocent-client.ts";
import { busySeconds, descriptors, memoryMiB } from "./proc.ts";
import { type Home, newHome, type Server, type Settings } from "./process.ts";
import { tier } from "./tier.ts";
import { within } from "./until.ts";

/**
 * Bounds of the hostile suite. On an idle machine the silence should be below 250 ms; these leave room for a machine with other
 * work, and are below what an attack does to a server that does not defend itself.
 */
const bounds = {
  /** Of the innocent client: time without an answer (`netSilence`), and the server's processor time in it (`loop`). */
  maxSilenceMs: 2000,
  maxLoopMs: 600 as number,
  /**
   * Peak of resident memory since the start. Under a memory limit of 256 MiB the server collects its garbage sooner and stays below
   * that. Here is no limit: a container may not make a control group, and RLIMIT_DATA also counts the gigabytes of address space that
   * JavaScriptCore reserves and never touches.
   */
  maxPeakMiB: 320,
  /** Resident memory that may be left afterwards, beyond what the server had before; garbage is given back late. */
  maxLeftMiB: 150,
  /** For memory, descriptors and processor to come back once the attackers have left. */
  recoveryMs: 60_000,
  /** Of one thread, for a server that has nothing left to do. */
  maxBusyPercent: 25,
} as const;

/** How much of its time an attack has: its effect shows in seconds, and only `test:long` waits for more. */
const attackShare = tier === "long" ? 1 : 0.5;

/** Of an attack that has to come to something. */
const maxRounds = 10;

/** For an attack and its recovery, on a busy machine. */
const attackTimeoutMs = 180_000;

/** attackTest is a test that has the time for an attack; only Linux has all of 127.0.0.0/8 and `/proc`. */
export function attackTest(title: string, tell: () => Promise<void>): void {
  const run = process.platform === "linux" ? tell : skip;
  test(title, run, attackTimeoutMs);
}

async function skip(): Promise<void> {
  console.log("SKIPPED: attacks on a server need /proc (Linux)");
}

/** WatchedServer is a server process under attack: what it does to an innocent client and to its machine is measured. */
export class WatchedServer implements AsyncDisposable {
  private constructor(
    readonly home: Home,
    readonly server: Server,
  ) {}

  static async start(settings: Settings = {}, databaseUrl?: string): Promise<WatchedServer> {
    // Refused strangers are logged; a million such lines are no part of these stories.
    const top = `client_memory_bytes = ${64 * 1024 * 1024}`;
    const home = await newHome({ top, logging: 'log_filter = "info,token=off"', ...settings }, databaseUrl);
    return new WatchedServer(home, await home.serve());
  }

  /** A server with a bucket `b` that holds these files. */
  static async withBucket(
    files: Record<string, string | Uint8Array> = {},
    databaseUrl?: string,
  ): Promise<WatchedServer> {
    const target = await WatchedServer.start({}, databaseUrl);
    await target.server.call("static-bucket_create", [target.server.superToken, "b"]);
    await mkdir(target.home.file("static/b"), { recursive: true });
    for (const [name, content] of Object.entries(files))
      await writeFile(target.home.file(`static/b/${name}`), content);
    return target;
  }

  /** Runs `attack` while an innocent client watches, prints a line of figures, and expects that all is as it was before. */
  async survives(name: string, attack: () => Promise<void>, maxLoopMs = bounds.maxLoopMs): Promise<void> {
    await this.#expectAtWork();
    const before = { memory: await memoryMiB(this.server), open: (await descriptors(this.server)).length };
    await using client = await innocentClient({ url: this.server.url, pid: this.server.pid });
    const [attacked] = await Promise.allSettled([attack()]);
    const innocent = await client.stop();
    const misses = [...missedBy(innocent, maxLoopMs), ...(await this.#notRecovered(before))];
    const memory = this.server.alive ? await this.#memory(before.memory) : "the server is gone";
    console.log([`${name}: ${lineOf(innocent)}, ${memory}`, ...misses].join("; MISSED: "));
    if (attacked.status === "rejected") throw attacked.reason;
    expect(misses).toEqual([]);
    await this.#expectAtWork();
  }

  /** Starts an attack that goes on until it is stopped, or until the server has ended all its connections. */
  launch(options: AttackOptions): Promise<Attacker> {
    return launchAttack(this.home, this.server.url, options);
  }

  /** Runs an attack for at most `ms`, or until the server has ended all its connections; what it came to. */
  async attack(ms: number, options: AttackOptions): Promise<AttackReport> {
    await using attacker = await this.launch(options);
    await attacker.finished(ms * attackShare);
    return await attacker.stop();
  }

  /** Runs an attack again, as a busy machine may need, until it has come to enough; what the last one came to. */
  async attackUntil(
    isEnough: (report: AttackReport) => boolean,
    ms: number,
    options: AttackOptions,
  ): Promise<AttackReport> {
    for (let round = 1; ; round += 1) {
      const report = await this.attack(ms, options);
      if (isEnough(report) || round === maxRounds) return report;
    }
  }

  /** A call with the right token is answered as ever. */
  async #expectAtWork(): Promise<void> {
    const { server } = this;
    const buckets = within(
      "a call with a token is answered",
      server.call("static-bucket_list", [server.superToken]),
    );
    expect(await buckets).toBeArray();
  }

  async #memory(before: number): Promise<string> {
    const [peak, left] = [await memoryMiB(this.server, "VmHWM"), await memoryMiB(this.server)];
    return `memory ${Math.round(before)} peak ${Math.round(peak)} left ${Math.round(left)} MiB`;
  }

  /** Waits until memory, descriptors and processor are back; what was not in time. */
  async #notRecovered(before: { memory: number; open: number }): Promise<string[]> {
    const deadline = Date.now() + bounds.recoveryMs;
    for (;;) {
      if (!this.server.alive) return [`the server ended: ${this.server.stderr.slice(-500)}`];
      const busy = await busyPercent(this.server, 500);
      const open = (await descriptors(this.server)).length;
      const left = (await memoryMiB(this.server)) - before.memory;
      const misses = [
        ...over("% busy afterwards", busy, bounds.maxBusyPercent),
        ...over("descriptors open afterwards", open, before.open),
        ...over("MiB kept afterwards", left, bounds.maxLeftMiB),
      ];
      if (misses.length > 0 && Date.now() < deadline) continue;
      // Work that the attackers left behind may have raised it further.
      return [
        ...misses,
        ...over("MiB at the peak", await memoryMiB(this.server, "VmHWM"), bounds.maxPeakMiB),
      ];
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.home[Symbol.asyncDispose]();
  }
}

/** One miss when `value` is above `bound`, none otherwise. */
function over(what: string, value: number, bound: number): string[] {
  return value > bound ? [`${Math.round(value)} ${what}, not ${bound}`] : [];
}

function missedBy({ netSilence, loop, statuses }: InnocentReport, maxLoopMs: number): string[] {
  return [
    ...over("ms without an answer", netSilence, Math.max(bounds.maxSilenceMs, maxLoopMs)),
    ...over("ms of the event loop at once", loop, maxLoopMs),
    ...over("innocent connections dropped", statuses["0"] ?? 0, 0),
  ];
}

function lineOf({ p50, p99, silence, netSilence, loop, answers, statuses }: InnocentReport): string {
  const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0);
  const refused = answers - (statuses["200"] ?? 0);
  return `${answers} answers${refused > 0 ? ` (${refused} refused)` : ""}, p50 ${ms(p50)} p99 ${ms(p99)} silence ${ms(silence)} (net ${ms(netSilence)}) loop ${ms(loop)} ms`;
}

/** How busy a server is over `ms`, in percent of one thread; on a machine with other work, waiting to run is busy too. */
async function busyPercent(server: Server, ms: number): Promise<number> {
  const [start, from] = [performance.now(), await busySeconds(server)];
  await Bun.sleep(ms);
  return (((await busySeconds(server)) - from) / (performance.now() - start)) * 100_000;
}
