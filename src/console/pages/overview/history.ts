import type { MetricHistory, ResultOf } from "../../../client/index.ts";

type MetricsAnswer = Pick<ResultOf<"node-server_metrics">, "time" | "history">;

/** Values of some series at the same times. */
export interface Samples {
  readonly stepMs: number;
  /** In Unix milliseconds. */
  readonly times: readonly number[];
  /** By name of the series; null where nothing was measured. */
  readonly values: Readonly<Record<string, ReadonlyArray<number | null>>>;
}

export type Range = "hour" | "day";
export const ranges: readonly Range[] = ["hour", "day"];
export const lengthMs: Readonly<Record<Range, number>> = { hour: 3_600_000, day: 86_400_000 };

/** The history as far as it was read. */
export interface History {
  readonly hour: Samples;
  /** Undefined until it was asked for: it is the larger part by far. */
  readonly day: Samples | undefined;
}

/** Time from which the next answer must start, in Unix milliseconds of the server; null for all that the server has. */
export function sinceFor(known: History | undefined, range: Range, now: number): number | null {
  if (range === "day" && known?.day === undefined) return null;
  return known?.hour.times.at(-1) ?? now - lengthMs.hour;
}

/** addAnswer adds an answer to the known history. `since` is the requested start. */
export function addAnswer(known: History | undefined, answer: MetricsAnswer, since: number | null): History {
  const [hour, day] = answer.history;
  if (hour === undefined || day === undefined) throw new Error("the server sent no history");
  const isWhole = since === null;
  return {
    hour: append(isWhole ? undefined : known?.hour, hour, answer.time - lengthMs.hour),
    day:
      isWhole || known?.day !== undefined
        ? append(isWhole ? undefined : known?.day, day, answer.time - lengthMs.day)
        : undefined,
  };
}

/** append adds the values of `part` that are newer than the known ones, and drops those before `oldest`. */
function append(known: Samples | undefined, part: MetricHistory, oldest: number): Samples {
  const stepMs = part.step_seconds * 1000;
  const last = known?.times.at(-1) ?? Number.NEGATIVE_INFINITY;
  const names = Object.keys(part.series);
  const count = names.length === 0 ? 0 : (part.series[names[0] ?? ""]?.length ?? 0);
  const added = Array.from(
    { length: part.start === null ? 0 : count },
    (_, at) => (part.start ?? 0) + at * stepMs,
  );
  const isNew = added.map((time) => time > last);
  const newTimes = added.filter((_, at) => isNew[at]);
  // A line must not join what was before a restart of the server with what came after.
  const hasGap = known !== undefined && newTimes[0] !== undefined && newTimes[0] - last > 1.5 * stepMs;
  const times = [...(known?.times ?? []), ...(hasGap ? [last + stepMs] : []), ...newTimes];
  const first = times.findIndex((time) => time > oldest);
  const from = first === -1 ? times.length : first;
  const values = names.map((name) => {
    const before = known?.values[name] ?? known?.times.map(() => null) ?? [];
    const after = (part.series[name] ?? []).filter((_, at) => isNew[at]);
    return [name, [...before, ...(hasGap ? [null] : []), ...after].slice(from)] as const;
  });
  return { stepMs, times: times.slice(from), values: Object.fromEntries(values) };
}

/** The sum of some series; null where none of them was measured. */
export function sumOf(samples: Samples, names: readonly string[]): Array<number | null> {
  const columns = names.map((name) => samples.values[name] ?? []);
  return samples.times.map((_, at) => {
    const known = columns.map((column) => column[at] ?? null).filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });
}

/** The mean of the known values; undefined without one. */
export function mean(values: ReadonlyArray<number | null>): number | undefined {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** At most `count` values, each the mean of as many neighbours. */
export function thinned(values: ReadonlyArray<number | null>, count: number): Array<number | undefined> {
  const width = Math.max(1, Math.ceil(values.length / count));
  return Array.from({ length: Math.ceil(values.length / width) }, (_, at) =>
    mean(values.slice(at * width, (at + 1) * width)),
  );
}
