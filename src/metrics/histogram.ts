/** `durationBounds` are upper bounds in seconds, from an answer out of memory (microseconds) to an upload (minutes). */
export const durationBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120,
] as const;

/** HistogramCounts are the observations of a histogram at one moment. */
export interface HistogramCounts {
  readonly bounds: readonly number[];
  /** Observations by bucket, not cumulated; the last one is above every bound. */
  readonly counts: Float64Array | readonly number[];
  readonly sum: number;
}

/** Histogram counts observations by fixed upper bounds. `observe` allocates nothing. */
export class Histogram implements HistogramCounts {
  readonly bounds: readonly number[];
  /** Observations by bucket, not cumulated; the last one is above every bound. */
  readonly counts: Float64Array;
  /** The sum of all observations; in an array, because a number in a field is allocated anew with every change. */
  readonly #sum = new Float64Array(1);

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    counts[at] = (counts[at] as number) + 1;
    this.#sum[0] = (this.#sum[0] as number) + value;
  }

  get sum(): number {
    return this.#sum[0] ?? 0;
  }

  get count(): number {
    return this.counts.reduce((total, count) => total + count, 0);
  }
}

/**
 * `quantileOf` estimates a quantile of the observations in `counts`, by linear interpolation inside its bucket, as Prometheus'
 * `histogram_quantile` does. NaN if there are none.
 */
export function quantileOf(quantile: number, bounds: readonly number[], counts: Float64Array): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return Number.NaN;
  let left = quantile * total;
  for (const [at, upper] of bounds.entries()) {
    const count = counts[at] ?? 0;
    const lower = bounds[at - 1] ?? 0;
    if (left <= count && count > 0) return lower + (upper - lower) * (left / count);
    left -= count;
  }
  return bounds.at(-1) ?? Number.NaN;
}
