import type { Family, Labels } from "./family.ts";
import type { HistogramCounts } from "./histogram.ts";

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
