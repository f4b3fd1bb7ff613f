import { type Histogram, quantileOf } from "./family.ts";

/** Sampler returns the value of a series for the time since its last call; NaN if it is not known. */
type Sampler = (elapsedSeconds: number) => number;

/** Series is a value over time. Each ring has a sampler of its own, because each has another step. */
export interface Series {
  readonly name: string;
  sampler(): Sampler;
}

/** `rate` returns the growth of a counter, in units a second. */
export function rate(name: string, read: () => number): Series {
  return {
    name,
    sampler() {
      let last = read();
      return (elapsedSeconds) => {
        const before = last;
        last = read();
        return Math.max(0, last - before) / elapsedSeconds;
      };
    },
  };
}

/** `level` returns the present value of something that rises and falls. */
export function level(name: string, read: () => number | undefined): Series {
  return { name, sampler: () => () => read() ?? Number.NaN };
}

/** `quantile` is that of the observations since the last step, of several histograms with the same bounds together. */
export function quantile(name: string, which: number, histograms: () => readonly Histogram[]): Series {
  return {
    name,
    sampler() {
      let last = summed(histograms());
      return () => {
        const now = summed(histograms());
        const counts = now.counts.map((count, at) => Math.max(0, count - (last.counts[at] ?? 0)));
        last = now;
        return quantileOf(which, now.bounds, counts);
      };
    },
  };
}

function summed(histograms: readonly Histogram[]) {
  const [first] = histograms;
  const counts = new Float64Array(first?.counts.length ?? 0);
  for (const histogram of histograms)
    for (const [at, count] of histogram.counts.entries()) counts[at] = (counts[at] ?? 0) + count;
  return { bounds: first?.bounds ?? [], counts };
}

/** HistoryPart is what one ring holds of the chosen series. */
export interface HistoryPart {
  readonly step_seconds: number;
  /** The time of the first value, in milliseconds since 1970; null if there are no values. */
  readonly start: number | null;
  /** Values at `start`, `start + step_seconds` and so on; null where the server was not running or had nothing to measure. */
  readonly series: Readonly<Record<string, ReadonlyArray<number | null>>>;
}

export interface HistoryFilter {
  /** Only values after this time, in milliseconds since 1970. */
  readonly since?: number | undefined;
  /** The names of the series; all if undefined. */
  readonly series?: readonly string[] | undefined;
}

export interface RingSize {
  readonly stepSeconds: number;
  readonly steps: number;
}

/** A timer may fire so much before its time. */
const maxEarlyMs = 500;

/** HistoryRing keeps the last values of every series, four bytes each. */
export class HistoryRing {
  readonly #size: RingSize;
  readonly #columns: ReadonlyArray<{
    readonly name: string;
    readonly sample: Sampler;
    readonly values: Float32Array;
  }>;
  /** The number of steps since the start; the ring holds the last ones. */
  #written = 0;
  /** The end of the last step. */
  #lastAt: number;
  #sampledAt: number;

  /** `now` is in milliseconds since 1970, here and below. */
  constructor(size: RingSize, series: readonly Series[], now: number) {
    this.#size = size;
    this.#lastAt = now;
    this.#sampledAt = now;
    this.#columns = series.map(({ name, sampler }) => ({
      name,
      sample: sampler(),
      values: new Float32Array(size.steps),
    }));
  }

  /** Takes up values that an earlier start has measured. To be called before the first `tick`. */
  restore(parts: readonly HistoryPart[]): void {
    const { stepSeconds, steps } = this.#size;
    const own = parts.filter((part) => part.step_seconds === stepSeconds && part.start !== null);
    const ageOf = (at: number) => Math.round((this.#lastAt - at) / (stepSeconds * 1000));
    const oldest = Math.max(-1, ...own.map(({ start }) => Math.min(ageOf(start ?? 0), steps - 1)));
    if (this.#written > 0 || oldest < 0) return;
    this.#written = oldest + 1;
    for (const { name, values } of this.#columns) {
      values.fill(Number.NaN);
      for (const { start, series } of own)
        for (const [at, value] of (series[name] ?? []).entries()) {
          const age = ageOf((start ?? 0) + at * stepSeconds * 1000);
          if (age >= 0 && age <= oldest && typeof value === "number") values[oldest - age] = value;
        }
    }
  }

  /** Takes a sample if a step is over. Steps that were missed, because the machine slept, are unknown. */
  tick(now: number): void {
    const { stepSeconds, steps } = this.#size;
    const stepMs = stepSeconds * 1000;
    const elapsedSteps = Math.floor((now - this.#lastAt + maxEarlyMs) / stepMs);
    if (elapsedSteps < 1) {
      // The clock was set back.
      if (now < this.#lastAt - maxEarlyMs) this.#lastAt = this.#sampledAt = now;
      return;
    }
    const missed = Math.min(elapsedSteps - 1, steps);
    for (let step = 0; step < missed; step += 1) this.#write(() => Number.NaN);
    const elapsedSeconds = Math.max(now - this.#sampledAt, 1) / 1000;
    this.#write(({ sample }) => sample(elapsedSeconds));
    this.#lastAt += elapsedSteps * stepMs;
    this.#sampledAt = now;
  }

  read({ since = 0, series }: HistoryFilter): HistoryPart {
    const { stepSeconds, steps } = this.#size;
    const stepMs = stepSeconds * 1000;
    const available = Math.min(this.#written, steps);
    const count = Math.max(0, Math.min(available, Math.ceil((this.#lastAt - since) / stepMs)));
    const columns = this.#columns.filter(({ name }) => series === undefined || series.includes(name));
    return {
      step_seconds: stepSeconds,
      start: count === 0 ? null : Math.round(this.#lastAt - (count - 1) * stepMs),
      series: Object.fromEntries(columns.map(({ name, values }) => [name, this.#last(values, count)])),
    };
  }

  #last(values: Float32Array, count: number): Array<number | null> {
    return Array.from({ length: count }, (_, at) => {
      const value = values[(this.#written - count + at) % values.length] ?? Number.NaN;
      // Four bytes hold seven digits.
      return Number.isNaN(value) ? null : Number(value.toPrecision(6));
    });
  }

  #write(pick: (column: { readonly sample: Sampler }) => number): void {
    const at = this.#written % this.#size.steps;
    for (const column of this.#columns) column.values[at] = pick(column);
    this.#written += 1;
  }
}
