import { bytes, number } from "../../format.ts";
import { t } from "../../text/text.ts";
import { mean, type Samples, sumOf } from "./history.ts";
import type { Line, Measure, Unit } from "./measures.ts";

/** Values of a line in the unit of its measure. */
export function lineValues(samples: Samples, { factor }: Measure, { series }: Line): Array<number | null> {
  return sumOf(samples, series).map((value) => value && value * factor);
}

/** Lines of which something was measured: a database that is not on a disk has no free space, say. */
export function knownLines(samples: Samples, measure: Measure): Line[] {
  return measure.lines.filter((line) => lineValues(samples, measure, line).some((value) => value !== null));
}

/** Values of a tile: one for each time. */
export function tileValues(samples: Samples, measure: Measure): Array<number | null> {
  const { lines, tile } = measure;
  const columns = (tile === "first" ? lines.slice(0, 1) : lines).map((line) =>
    lineValues(samples, measure, line),
  );
  return samples.times.map((_, at) => {
    const known = columns.map((column) => column[at] ?? null).filter((value) => value !== null);
    if (known.length === 0) return null;
    return tile === "least" ? Math.min(...known) : known.reduce((sum, value) => sum + value, 0);
  });
}

const minuteMs = 60_000;

/** The value that a tile shows; undefined when nothing was measured lately. */
export function tileValue(samples: Samples, measure: Measure): number | undefined {
  const values = tileValues(samples, measure);
  const steps = Math.max(1, Math.round(minuteMs / samples.stepMs));
  const recent = values.slice(-steps);
  return measure.isRate ? mean(recent) : (recent.findLast((value) => value !== null) ?? undefined);
}

/** `12.3/min`, `45 ms`, `1.5 MB`. */
export function formatValue(value: number, unit: Unit): string {
  switch (unit) {
    case "perMinute":
      return t.overview.perMinute(rounded(value));
    case "seconds":
      return value < 1 ? t.overview.milliseconds(rounded(value * 1000)) : t.overview.seconds(rounded(value));
    case "bytesPerSecond":
      return t.overview.perSecond(bytes(Math.round(value)));
    case "percent":
      return `${rounded(value)}%`;
    case "bytes":
      return bytes(Math.round(value));
    case "count":
      return number(Math.round(value));
  }
}

function rounded(value: number): string {
  return number(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}
