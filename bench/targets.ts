import { type Costs, costOf, findCell, timesHello } from "./cost.ts";
import { median, ratio, type Table } from "./figures.ts";
import { limits } from "./jobs.ts";
import { least } from "./servers/contenders.ts";

export interface Ratio {
  readonly job: string;
  readonly ratio: number;
  readonly limit: number;
  readonly met: boolean;
  /** What the least work for this request costs in Bun, in the same unit. */
  readonly least: number | undefined;
}

export function judge(costs: Costs): Ratio[] {
  return Object.entries(limits).flatMap(([job, limit]) => {
    const cell = findCell(costs, job);
    const measured = cell && timesHello(cell);
    if (cell === undefined || measured === undefined) return [];
    const floor = findCell(costs, job, least);
    return [
      {
        job,
        ratio: measured,
        limit,
        met: measured <= limit,
        least: floor && costOf(floor) / median(cell.hellos),
      },
    ];
  });
}

export function ratioTable(ratios: readonly Ratio[]): Table {
  return {
    head: ["", "times the cost of hello", "goal: at most", "", least],
    rows: ratios.map((each) => [
      each.job,
      ratio(each.ratio),
      String(each.limit),
      each.met ? "met" : "missed",
      each.least === undefined ? "" : ratio(each.least),
    ]),
  };
}
