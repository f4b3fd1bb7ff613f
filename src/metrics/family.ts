import type { Histogram, HistogramCounts } from "./histogram.ts";

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

/** `counter` is a family of one value that only grows. */
export function counter(name: string, help: string, read: () => number): Family {
  return { name, help, type: "counter", samples: () => [{ labels: noLabels, value: read() }] };
}

/** `gauge` is a family of one value; undefined while it is not known. */
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

/** `histogram` is a family of one histogram. */
export function histogram(name: string, help: string, value: Histogram): Family {
  return { name, help, type: "histogram", samples: () => [{ labels: noLabels, value }] };
}

/** `labelled` are the samples of values that one label tells apart. */
export function labelled<V>(label: string, values: Iterable<readonly [name: string, value: V]>): Sample<V>[] {
  return Array.from(values, ([name, value]) => ({ labels: { [label]: name }, value }));
}
