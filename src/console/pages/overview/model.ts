import type { MetricFamily, MetricHistory, ResultOf } from "../../../client/index.ts";
import { bytes, number } from "../../format.ts";
import { t } from "../../text/text.ts";

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

/** Series of requests, by the part of the server that answers. Those of consoles are no use of the server, and are not shown. */
const byHandler = {
  files: ["requests_static", "requests_links"],
  api: ["requests_jsonrpc"],
  webdav: ["requests_webdav", "requests_upload"],
  other: ["requests_health", "requests_metrics", "requests_other"],
};

type MeasureId = "requests" | "errors" | "latency" | "traffic" | "cpu" | "memory" | "disk" | "connections";

/** Lines of charts; the catalogue has their names. */
type LineId =
  | "files"
  | "api"
  | "webdav"
  | "other"
  | "serverErrors"
  | "clientErrors"
  | "p99"
  | "p50"
  | "sent"
  | "received"
  | "cpu"
  | "memory"
  | "staticDisk"
  | "databaseDisk"
  | "sockets"
  | "websockets";

type Unit = "perMinute" | "seconds" | "bytesPerSecond" | "percent" | "bytes" | "count";

export interface Line {
  readonly id: LineId;
  /** Series whose sum is shown. */
  readonly series: readonly string[];
}

export interface Measure {
  readonly id: MeasureId;
  readonly unit: Unit;
  /** What a value of the server is multiplied with to get one of `unit`. */
  readonly factor: number;
  readonly lines: readonly Line[];
  /** The value on the tile: the sum of all lines, the least of them, or the first one. */
  readonly tile: "sum" | "least" | "first";
  /** Whether the tile shows the mean of the last minute; otherwise the newest value. */
  readonly isRate: boolean;
}

/** What the tiles and charts show, in their order. */
export const measures: readonly Measure[] = [
  {
    id: "requests",
    unit: "perMinute",
    factor: 60,
    tile: "sum",
    isRate: true,
    lines: [
      { id: "files", series: byHandler.files },
      { id: "api", series: byHandler.api },
      { id: "webdav", series: byHandler.webdav },
      { id: "other", series: byHandler.other },
    ],
  },
  {
    id: "errors",
    unit: "perMinute",
    factor: 60,
    tile: "first",
    isRate: true,
    lines: [
      { id: "serverErrors", series: ["responses_5xx"] },
      { id: "clientErrors", series: ["responses_4xx"] },
    ],
  },
  {
    id: "latency",
    unit: "seconds",
    factor: 1,
    tile: "first",
    isRate: false,
    lines: [
      { id: "p99", series: ["request_seconds_p99"] },
      { id: "p50", series: ["request_seconds_p50"] },
    ],
  },
  {
    id: "traffic",
    unit: "bytesPerSecond",
    factor: 1,
    tile: "sum",
    isRate: true,
    lines: [
      { id: "sent", series: ["sent_bytes"] },
      { id: "received", series: ["received_bytes"] },
    ],
  },
  {
    id: "cpu",
    unit: "percent",
    factor: 100,
    tile: "first",
    isRate: true,
    lines: [{ id: "cpu", series: ["cpu_seconds"] }],
  },
  {
    id: "memory",
    unit: "bytes",
    factor: 1,
    tile: "first",
    isRate: false,
    lines: [{ id: "memory", series: ["resident_bytes"] }],
  },
  {
    id: "disk",
    unit: "bytes",
    factor: 1,
    tile: "least",
    isRate: false,
    lines: [
      { id: "staticDisk", series: ["disk_free_static_bytes"] },
      { id: "databaseDisk", series: ["disk_free_database_bytes"] },
    ],
  },
  {
    id: "connections",
    unit: "count",
    factor: 1,
    tile: "first",
    isRate: false,
    lines: [
      { id: "sockets", series: ["open_sockets"] },
      { id: "websockets", series: ["websockets"] },
    ],
  },
];

/** Every series that the page asks for. */
export const wantedSeries: readonly string[] = [
  ...new Set(measures.flatMap(({ lines }) => lines.flatMap(({ series }) => series))),
  "requests_console",
  "event_loop_delay_seconds_p99",
];

export function measureOf(id: string | null): Measure {
  const found = measures.find((measure) => measure.id === id) ?? measures[0];
  if (found === undefined) throw new Error("there are no measures");
  return found;
}

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

function samplesOf(families: readonly MetricFamily[], name: string) {
  return families.find((family) => family.name === name)?.samples ?? [];
}

/** Capacity is how much there is of something, and how much of it is used. */
export interface Capacity {
  readonly total: number;
  /** From 0 to 1. */
  readonly usedShare: number;
}

/** How much memory there is, and how much space on the disk with the least that is free; undefined for other measures. */
export function capacityOf(families: readonly MetricFamily[], { id }: Measure): Capacity | undefined {
  const one = (name: string) => samplesOf(families, name)[0]?.value;
  if (id === "memory") {
    const [used, total] = [one("process_resident_memory_bytes"), one("node_server_memory_limit_bytes")];
    return used === undefined || total === undefined ? undefined : { total, usedShare: used / total };
  }
  if (id !== "disk") return undefined;
  const [least] = [...samplesOf(families, "node_server_disk_free_bytes")].sort((a, b) => a.value - b.value);
  const size = samplesOf(families, "node_server_disk_size_bytes").find(
    ({ labels }) => labels.disk === least?.labels.disk,
  );
  if (least === undefined || size === undefined) return undefined;
  return { total: size.value, usedShare: 1 - least.value / size.value };
}

export interface BucketSize {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
}

/** Buckets that were counted, the largest first. */
export function bucketSizes(families: readonly MetricFamily[]): BucketSize[] {
  const files = new Map(
    samplesOf(families, "node_server_bucket_files").map(({ labels, value }) => [labels.bucket, value]),
  );
  return samplesOf(families, "node_server_bucket_bytes")
    .map(({ labels: { bucket: name = "" }, value: bytes }) => ({ name, bytes, files: files.get(name) ?? 0 }))
    .sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}

export interface TableSize {
  readonly name: string;
  readonly size: number;
  /** Growth since the base sample; undefined without one. */
  readonly growth: number | undefined;
}

/** Sizes of all tables, largest first. */
export function tableSizes({ tables }: SizeSample, base: SizeSample | undefined): readonly TableSize[] {
  return Object.entries(tables)
    .map(([name, size]) => ({ name, size, growth: base && size - (base.tables[name] ?? 0) }))
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1));
}

/** `+1.2 MB`, `−4 kB`, `unchanged`. */
export function growthText(growth: number): string {
  if (growth === 0) return t.overview.unchanged;
  return `${growth > 0 ? "+" : "−"}${bytes(Math.abs(growth))}`;
}

/** Size of each table in bytes at one time. */
export interface SizeSample {
  readonly at: number;
  readonly total: number;
  readonly tables: Readonly<Record<string, number>>;
}

/** Samples stored in the browser. */
export interface SizeHistory {
  /** Sample that new ones are compared with. */
  readonly base?: SizeSample;
  readonly latest: SizeSample;
}

/** Samples closer together belong to one visit, and are compared with the last sample before it. */
const visitGapMs = 30 * 60_000;

export function addSample(stored: SizeHistory | undefined, now: SizeSample): SizeHistory {
  if (stored === undefined) return { latest: now };
  const { base = stored.latest, latest } = stored;
  return { base: now.at - latest.at > visitGapMs ? latest : base, latest: now };
}

/** Stored history; undefined when it is invalid. Other pages of the origin can write there too. */
export function parseHistory(text: string | undefined): SizeHistory | undefined {
  try {
    const stored: unknown = JSON.parse(text ?? "null");
    return isHistory(stored) ? stored : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isHistory(value: unknown): value is SizeHistory {
  if (typeof value !== "object" || value === null || !("latest" in value) || !isSample(value.latest))
    return false;
  return !("base" in value) || isSample(value.base);
}

function isSample(value: unknown): value is SizeSample {
  if (typeof value !== "object" || value === null) return false;
  const { at, total, tables } = value as Partial<Record<keyof SizeSample, unknown>>;
  if (typeof at !== "number" || Number.isNaN(new Date(at).getTime()) || typeof total !== "number")
    return false;
  if (typeof tables !== "object" || tables === null) return false;
  return Object.values(tables).every((size) => typeof size === "number");
}
