/** Series of requests, by the part of the server that answers. Those of consoles are no use of the server, and are not shown. */
const byHandler = {
  files: ["requests_static", "requests_links"],
  api: ["requests_jsonrpc"],
  webdav: ["requests_webdav", "requests_upload"],
  other: ["requests_health", "requests_metrics", "requests_other"],
};
export const requestSeries: readonly string[] = [...Object.values(byHandler).flat(), "requests_console"];

export type MeasureId =
  | "requests"
  | "errors"
  | "latency"
  | "traffic"
  | "cpu"
  | "memory"
  | "disk"
  | "connections";

/** Lines of charts; the catalogue has their names. */
export type LineId =
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

export type Unit = "perMinute" | "seconds" | "bytesPerSecond" | "percent" | "bytes" | "count";

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
