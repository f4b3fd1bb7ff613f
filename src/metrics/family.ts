export type Labels = Readonly<Record<string, string>>;

/** Sample is one value of a family, told apart from the others by its labels. */
export interface Sample<V> {
  readonly labels: Labels;
  readonly value: V;
}

interface FamilyHead {
  /** By the conventions of Prometheus: with the base unit, and `_total` for a counter. */
  readonly name: string;
  readonly help: string;
}

/** Family is a metric. Its samples are read when somebody asks for them, so that nothing is copied in between. */
export type Family =
  | (FamilyHead & { readonly type: "counter" | "gauge"; samples(): Iterable<Sample<number>> })
  | (FamilyHead & { readonly type: "histogram"; samples(): Iterable<Sample<HistogramCounts>> });

const noLabels: Labels = {};

/** `counter` returns a family of one value that only grows. */
export function counter(name: string, help: string, read: () => number): Family {
  return { name, help, type: "counter", samples: () => [{ labels: noLabels, value: read() }] };
}

/** `gauge` returns a family of one value; undefined while it is not known. */
export function gauge(name: string, help: string, read: () => number | undefined): Family {
  return {
    name,
    help,
    type: "gauge",
    samples() {
      const value = read();
      return value === undefined ? [] : [{ labels: noLabels, value }];
    },
  };
}

/** `histogram` returns a family of one histogram. */
export function histogram(name: string, help: string, value: Histogram): Family {
  return { name, help, type: "histogram", samples: () => [{ labels: noLabels, value }] };
}

/** `labelled` returns the samples of values that one label tells apart. */
export function labelled<V>(label: string, values: Iterable<readonly [name: string, value: V]>): Sample<V>[] {
  return Array.from(values, ([name, value]) => ({ labels: { [label]: name }, value }));
}

/** SampledFamily is a family with its values at one moment, in a form that JSON can carry to another process. */
export interface SampledFamily {
  readonly name: string;
  readonly help: string;
  readonly type: Family["type"];
  /** JSON turns a number that is not finite into null. */
  readonly samples: ReadonlyArray<readonly [labels: Labels, value: number | HistogramCounts | null]>;
}

/** SampledProcess is what one process of the server has measured. */
export interface SampledProcess {
  readonly process: number;
  readonly families: readonly SampledFamily[];
}

/** `sampleFamilies` reads the present values of all families. */
export function sampleFamilies(families: Iterable<Family>): SampledFamily[] {
  return Array.from(families, (family) => ({
    name: family.name,
    help: family.help,
    type: family.type,
    samples:
      family.type === "histogram"
        ? Array.from(family.samples(), ({ labels, value }) => [labels, countsOf(value)] as const)
        : Array.from(family.samples(), ({ labels, value }) => [labels, value] as const),
  }));
}

function countsOf({ bounds, counts, sum }: HistogramCounts): HistogramCounts {
  return { bounds, counts: [...counts], sum };
}

/** `mergeFamilies` joins the families of several processes: each once, its samples told apart by the label `process`. */
export function mergeFamilies(processes: readonly SampledProcess[]): Family[] {
  const merged = new Map<string, { readonly of: SampledFamily; readonly samples: unknown[] }>();
  for (const { process, families } of processes)
    for (const of of families) {
      const known = merged.get(of.name) ?? { of, samples: [] };
      merged.set(of.name, known);
      for (const [labels, value] of of.samples)
        known.samples.push({ labels: { ...labels, process: String(process) }, value: value ?? Number.NaN });
    }
  return Array.from(
    merged.values(),
    ({ of: { name, help, type }, samples }) => ({ name, help, type, samples: () => samples }) as Family,
  );
}

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
