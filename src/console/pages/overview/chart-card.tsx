import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MetricFamily } from "../../../client/index.ts";
import { importCode } from "../../connection.ts";
import { bytes, time } from "../../format.ts";
import { changeQuery } from "../../route.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { type LoadState, useLoad } from "../../ui/call.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Segments } from "../../ui/form.tsx";
import { Skeleton } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import type { ChartProps } from "./chart.tsx";
import {
  addAnswer,
  type Capacity,
  capacityOf,
  formatValue,
  type History,
  knownLines,
  lineValues,
  type Measure,
  mean,
  measures,
  type Range,
  ranges,
  type Samples,
  sinceFor,
  thinned,
  tileValue,
  tileValues,
  wantedSeries,
} from "./model.ts";

interface ChartCardProps {
  readonly measure: Measure;
  readonly range: Range;
  /** Undefined while it is loaded. */
  readonly samples: Samples | undefined;
}

/** Chart of one measure over an hour or a day, and the same as a table. */
export function ChartCard({ measure, range, samples }: ChartCardProps) {
  // Kept here: the table is made anew when another range is loaded.
  const [isTableOpen, setTableOpen] = useState(false);
  return (
    <section class="card overview-chart" aria-labelledby="chart">
      <header>
        <h2 id="chart">{t.overview.measures[measure.id]}</h2>
        <Segments
          label={t.overview.range}
          options={ranges.map((value) => ({ value, title: t.overview.ranges[value] }))}
          value={range}
          onChange={(next) => changeQuery({ range: next === "hour" ? "" : next })}
        />
      </header>
      {samples === undefined ? (
        <Skeleton rows={4} />
      ) : samples.times.length < 2 ? (
        <p class="muted overview-waiting">{t.overview.chartWaits}</p>
      ) : (
        <>
          <LazyChart measure={measure} range={range} samples={samples} />
          <details
            class="overview-numbers"
            open={isTableOpen}
            onToggle={({ currentTarget }) => setTableOpen(currentTarget.open)}
          >
            <summary>{t.overview.asTable}</summary>
            {isTableOpen && <ChartTable measure={measure} samples={samples} />}
          </details>
        </>
      )}
    </section>
  );
}

/** Fetches the code of the charts when one is first shown. */
function LazyChart(props: ChartProps) {
  const [Chart, setChart] = useState<ComponentType<ChartProps>>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let isGone = false;
    importCode(() => import("./chart.tsx")).then(
      (module) => isGone || setChart(() => module.Chart),
      () => isGone || setError(new Error(t.frame.codeMissing)),
    );
    return () => {
      isGone = true;
    };
  }, []);
  if (error !== undefined) return <Problem error={error} retry={() => location.reload()} />;
  return Chart === undefined ? <div class="overview-plot" /> : <Chart {...props} />;
}

const tableRows = 12;

/** The chart in numbers, for everybody who cannot see it, and for exact values. */
function ChartTable({ measure, samples }: Omit<ChartProps, "range">) {
  const lines = knownLines(samples, measure);
  const values = lines.map((line) => lineValues(samples, measure, line));
  const width = Math.ceil(samples.times.length / tableRows);
  const rows = Array.from({ length: Math.ceil(samples.times.length / width) }, (_, at) => ({
    from: samples.times[at * width] ?? 0,
    means: values.map((column) => mean(column.slice(at * width, (at + 1) * width))),
  }));
  const columns: ReadonlyArray<Column<(typeof rows)[number]>> = [
    {
      id: "from",
      title: t.overview.from,
      cell: ({ from }) => time(from).slice(0, "2026-11-15 08:41".length),
    },
    ...lines.map(({ id }, at) => ({
      id,
      title: t.overview.lines[id],
      kind: "number" as const,
      cell: ({ means }: (typeof rows)[number]) => {
        const value = means[at];
        return value === undefined ? "–" : formatValue(value, measure.unit);
      },
    })),
  ];
  return (
    <DataTable
      label={t.overview.tableCaption(t.overview.measures[measure.id])}
      columns={columns}
      rows={rows.reverse()}
      keyOf={({ from }) => String(from)}
    />
  );
}

const sparklinePoints = 60;

interface TilesProps {
  /** The last hour. */
  readonly hour: Samples;
  readonly families: readonly MetricFamily[];
  readonly chosen: Measure;
  /** Whether the server says that a disk fills up. */
  readonly isDiskLow: boolean;
}

/** What the server does now, with the last hour as a small line. A tile chooses the chart below. */
export function Tiles({ hour, families, chosen, isDiskLow }: TilesProps) {
  return (
    <fieldset class="tiles overview-tiles">
      <legend class="unseen">{t.overview.tiles}</legend>
      {measures.map((measure) => (
        <Tile
          key={measure.id}
          measure={measure}
          hour={hour}
          capacity={capacityOf(families, measure)}
          isLow={isDiskLow && measure.id === "disk"}
          isChosen={measure === chosen}
        />
      ))}
    </fieldset>
  );
}

interface TileProps {
  readonly measure: Measure;
  readonly hour: Samples;
  readonly capacity: Capacity | undefined;
  readonly isLow: boolean;
  readonly isChosen: boolean;
}

function Tile({ measure, hour, capacity, isLow, isChosen }: TileProps) {
  const title = t.overview.measures[measure.id];
  const value = tileValue(hour, measure);
  const values = thinned(tileValues(hour, measure), sparklinePoints);
  const known = values.filter((one) => one !== undefined);
  const label =
    known.length === 0
      ? t.overview.notMeasured
      : t.overview.lastHour(
          formatValue(Math.min(...known), measure.unit),
          formatValue(Math.max(...known), measure.unit),
        );
  const isBad = measure.id === "errors" && (value ?? 0) > 0;
  return (
    <button
      type="button"
      class="tile"
      aria-pressed={isChosen}
      onClick={() => changeQuery({ chart: measure.id })}
    >
      <span class="tile-title">{title}</span>
      <span class={isBad ? "tile-value bad" : "tile-value"}>
        {value === undefined ? "–" : formatValue(value, measure.unit)}{" "}
        {capacity !== undefined && <small class="muted">{t.overview.ofTotal(bytes(capacity.total))}</small>}
      </span>
      {capacity !== undefined && <Used share={capacity.usedShare} isLow={isLow} />}
      <Sparkline values={values} label={label} />
    </button>
  );
}

/** How much of something is used, as a bar. */
function Used({ share, isLow }: { readonly share: number; readonly isLow: boolean }) {
  const percent = Math.round(100 * Math.min(Math.max(share, 0), 1));
  return (
    <span class="overview-track" role="img" aria-label={t.overview.used(`${percent}%`)}>
      <span class={isLow ? "overview-bar bad" : "overview-bar"} style={{ width: `${percent}%` }} />
    </span>
  );
}

/** As often as the server measures. */
const refreshMs = 10_000;

interface MetricsView {
  readonly families: readonly MetricFamily[];
  readonly history: History;
}

/** Present values and history, refreshed while the tab is visible; only new values are transferred. Undefined without the permission. */
export function useMetrics(range: Range): LoadState<MetricsView | undefined> {
  const { client, rights } = useSession();
  const isAllowed = rights.may("node-server_metrics");
  const history = useRef<History>(undefined);
  return useLoad(
    async (signal) => {
      if (!isAllowed) return undefined;
      const since = sinceFor(history.current, range, Date.now());
      const answer = await client.call(
        "node-server_metrics",
        { since, series: [...wantedSeries] },
        { signal },
      );
      history.current = addAnswer(history.current, answer, since);
      return { families: answer.metrics, history: history.current };
    },
    [client, isAllowed, range],
    { every: refreshMs },
  );
}

/** Size of the drawing; CSS stretches it. */
const width = 100;
const height = 28;

interface SparklineProps {
  /** Values in the order of time; undefined where nothing was measured, which leaves a gap. */
  readonly values: ReadonlyArray<number | undefined>;
  /** Accessible name with the facts, such as "Requests in the last hour: 120 to 480 a minute". */
  readonly label: string;
  /** Upper end of the scale; the largest value if it is left out. The lower end is 0. */
  readonly max?: number;
}

/** Small line of a value over time, without axes. */
function Sparkline({ values, label, max }: SparklineProps) {
  const top = Math.max(max ?? 0, ...values.map((value) => value ?? 0)) || 1;
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const point = (value: number, at: number) =>
    `${round(at * step)},${round(height - 1 - (Math.max(value, 0) / top) * (height - 2))}`;
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {runsOf(values).map(({ start, run }) => {
        const line = run.map((value, at) => point(value, start + at)).join(" ");
        const end = round((start + run.length - 1) * step);
        return (
          <g key={start}>
            <polygon points={`${round(start * step)},${height} ${line} ${end},${height}`} />
            <polyline points={line} />
          </g>
        );
      })}
    </svg>
  );
}

/** Parts of the values without a gap. */
function runsOf(values: SparklineProps["values"]) {
  const runs: { readonly start: number; readonly run: number[] }[] = [];
  values.forEach((value, at) => {
    if (value === undefined) return;
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.run.length === at) last.run.push(value);
    else runs.push({ start: at, run: [value] });
  });
  return runs;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
