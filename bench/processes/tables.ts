import { median, micros, perSecond, quantile, ratio, type Table } from "../figures.ts";
import type { ProcessCell } from "./measure.ts";

function grid(cells: readonly ProcessCell[], corner: string, text: (cell: ProcessCell) => string): Table {
  const counts = [...new Set(cells.map(({ processes }) => processes))];
  const rows = [...new Set(cells.map(({ job }) => job))].map((job) => {
    const of = cells.filter((cell) => cell.job === job);
    return [job, ...of.map(text), timesOne(of)];
  });
  const heads = counts.map((count) => (count === 1 ? "1 process" : `${count} processes`));
  return { head: [corner, ...heads, "ratio"], rows };

  function timesOne(of: readonly ProcessCell[]): string {
    const value = (cell: ProcessCell | undefined) =>
      cell === undefined ? Number.NaN : median(corner.startsWith("µs") ? cell.costs : cell.freeRates);
    return ratio(value(of.at(-1)) / value(of[0]));
  }
}

/** processCostTable is the processor time of the server: the median of all rounds, and the two quartiles. */
export function processCostTable(cells: readonly ProcessCell[]): Table {
  return grid(cells, "µs per request", ({ costs }) => {
    const [low, high] = [quantile(costs, 0.25), quantile(costs, 0.75)];
    return `${micros(median(costs))} (${micros(low)}–${micros(high)})`;
  });
}

/** processRateTable is how many requests end in a second, without the time of the load; in parentheses as they were counted. */
export function processRateTable(cells: readonly ProcessCell[]): Table {
  return grid(
    cells,
    "32 clients",
    ({ rates, freeRates }) => `${perSecond(median(freeRates))} (${perSecond(median(rates))})`,
  );
}

/** loadLine is what the load costs beside it. */
export function loadLine(cells: readonly ProcessCell[]): string {
  const costs = cells.map(({ loadCosts }) => median(loadCosts));
  return `The load itself took ${micros(Math.min(...costs))}–${micros(Math.max(...costs))} µs of processor time per request on the same cores.`;
}
