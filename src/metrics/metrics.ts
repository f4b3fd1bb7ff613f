// This folder has the tools to measure, and knows no part of the server. family.ts defines a metric whose samples are
// read when somebody asks; recorders.ts has the counters that calls, requests and statements write to,
// process-metrics.ts measures the process. The Metrics of this file gather all families, also those of sibling
// processes, and feed history.ts, which keeps a day of values for charts. text-format.ts writes the families for
// Prometheus and OpenMetrics. The folder monitor/ connects all this with the parts of the node.

import { atMost, type Clock } from "../base/clock.ts";
import { Task } from "../base/task.ts";
import { type Family, mergeFamilies, type SampledProcess, sampleFamilies } from "./family.ts";
import { type HistoryFilter, type HistoryPart, HistoryRing, type RingSize, type Series } from "./history.ts";

/** An hour in steps of ten seconds, and a day in steps of a minute. */
const rings: readonly RingSize[] = [
  { stepSeconds: 10, steps: 360 },
  { stepSeconds: 60, steps: 1440 },
];
const measureMs = 10_000;
const maxMeasureMs = 1000;

/** SiblingMetrics are the metrics of the other processes of a server that has several. */
export interface SiblingMetrics {
  /** The number of this process. */
  readonly number: number;
  /** Returns those of the others that answer in time. Must not reject. */
  gather(): Promise<readonly SampledProcess[]>;
}

interface MetricsOptions {
  readonly families: readonly Family[];
  readonly series: readonly Series[];
  readonly siblings?: SiblingMetrics | undefined;
  readonly clock: Clock;
  /** Measures what takes system calls or waiting; called before the values are sampled, every ten seconds. Must not reject. */
  measure(): Promise<void>;
  /** Starts and ends what the measurements need. */
  start(): void;
  close(): void;
}

/** Metrics are the present values of everything that the server measures about itself, and their history of a day. */
export class Metrics {
  readonly #options: MetricsOptions;
  readonly #rings: readonly HistoryRing[];
  readonly #task: Task;
  #measuring: Promise<void> | undefined;

  constructor(options: MetricsOptions) {
    this.#options = options;
    const now = options.clock.now();
    this.#rings = rings.map((size) => new HistoryRing(size, options.series, now));
    this.#task = new Task({ clock: options.clock, everyMs: measureMs, run: () => this.#tick() });
  }

  /** Starts the measurements. To be called once the services are open. */
  start(): void {
    this.#options.start();
    this.#task.start();
    void this.#measure();
  }

  get families(): readonly Family[] {
    return this.#options.families;
  }

  /** Returns the families of the whole server. If it has several processes, the label `process` tells their samples apart. */
  async gather(): Promise<readonly Family[]> {
    const { siblings } = this.#options;
    if (siblings === undefined) return this.families;
    const own = { process: siblings.number, families: sampleFamilies(this.families) };
    const all = [own, ...(await siblings.gather())];
    return mergeFamilies(all.sort((a, b) => a.process - b.process));
  }

  /** The names of the series in `history`. */
  get seriesNames(): readonly string[] {
    return this.#options.series.map(({ name }) => name);
  }

  /** The last hour in steps of ten seconds, then the last day in steps of a minute. */
  history(filter: HistoryFilter): HistoryPart[] {
    return this.#rings.map((ring) => ring.read(filter));
  }

  /** Takes up the history of an earlier start. To be called before `start`. */
  restore(parts: readonly HistoryPart[]): void {
    for (const ring of this.#rings) ring.restore(parts);
  }

  close(): void {
    void this.#task.close();
    this.#options.close();
  }

  /** Callers share a measurement that is under way. */
  #measure(): Promise<void> {
    this.#measuring ??= this.#options.measure().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  /** Waits a while for the measurements: a disk that does not answer must neither end the history nor use up threads. */
  async #tick(): Promise<void> {
    await atMost(this.#measure(), { ms: maxMeasureMs });
    const now = this.#options.clock.now();
    for (const ring of this.#rings) ring.tick(now);
  }
}
