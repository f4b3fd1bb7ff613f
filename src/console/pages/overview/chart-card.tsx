import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { importCode } from "../../connection.ts";
import { time } from "../../format.ts";
import { replaceQuery, route } from "../../route.ts";
import { t } from "../../text/text.ts";
import { Problem } from "../../ui/problem.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import type { ChartProps } from "./chart.tsx";
import { mean, type Range, ranges, type Samples } from "./history.ts";
import { formatValue, knownLines, lineValues } from "./measure-values.ts";
import type { Measure } from "./measures.ts";

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
        <fieldset class="segments">
          <legend class="unseen">{t.overview.range}</legend>
          {ranges.map((one) => (
            <button key={one} type="button" aria-pressed={one === range} onClick={() => chooseRange(one)}>
              {t.overview.ranges[one]}
            </button>
          ))}
        </fieldset>
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

function chooseRange(range: Range): void {
  replaceQuery({ ...Object.fromEntries(route.value.query), range: range === "hour" ? "" : range });
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
  const columns = lines.map((line) => lineValues(samples, measure, line));
  const width = Math.ceil(samples.times.length / tableRows);
  const rows = Array.from({ length: Math.ceil(samples.times.length / width) }, (_, at) => ({
    from: samples.times[at * width] ?? 0,
    means: columns.map((values) => mean(values.slice(at * width, (at + 1) * width))),
  }));
  return (
    <div class="table-box">
      <table class="table">
        <caption class="unseen">{t.overview.tableCaption(t.overview.measures[measure.id])}</caption>
        <thead>
          <tr>
            <th scope="col">{t.overview.from}</th>
            {lines.map(({ id }) => (
              <th key={id} scope="col" class="number">
                {t.overview.lines[id]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.reverse().map(({ from, means }) => (
            <tr key={from}>
              <td>{time(from).slice(0, "2026-11-15 08:41".length)}</td>
              {means.map((value, at) => (
                <td key={lines[at]?.id} class="number">
                  {value === undefined ? "–" : formatValue(value, measure.unit)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
