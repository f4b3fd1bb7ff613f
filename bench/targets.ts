import { type Costs, costOf, findCell } from "./cost.ts";
import { ratio, type Table } from "./figures.ts";
import { rows } from "./jobs.ts";
import { least } from "./servers/contenders.ts";

/** Calls that no other server has, beside hello: at most so many times its cost, in the same run. */
const limits: Readonly<Record<string, number>> = {
  [rows.authenticated]: 1.3,
  [rows.sql]: 5,
  [rows.list]: 3.5,
  [rows.read]: 3,
  [rows.upload]: 9,
  [rows.propfind0]: 4,
  [rows.propfind1]: 14,
  [rows.davGet]: 3,
  [rows.davPut]: 10,
};

export interface Ratio {
  readonly job: string;
  readonly ratio: number;
  readonly limit: number;
  readonly met: boolean;
  /** What the least work for this request costs in Bun, in the same unit. */
  readonly least: number | undefined;
}

export function judge(costs: Costs): Ratio[] {
  const hello = findCell(costs, rows.hello);
  return Object.entries(limits).flatMap(([job, limit]) => {
    const cell = findCell(costs, job);
    if (cell === undefined || hello === undefined) return [];
    const measured = costOf(cell) / costOf(hello);
    const floor = findCell(costs, job, least);
    return [
      {
        job,
        ratio: measured,
        limit,
        met: measured <= limit,
        least: floor && costOf(floor) / costOf(hello),
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
