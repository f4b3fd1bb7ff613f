import {
  count,
  median,
  megabytes,
  micros,
  ms,
  quantile,
  ratio,
  type Table,
  type Target,
} from "../figures.ts";
import { jobNames, sizesOf } from "./jobs.ts";
import type { StoreCell } from "./measure.ts";
import type { Plan } from "./plans.ts";
import type { DatabaseName, StoreSite } from "./sites.ts";

/** Goals: a GET from memory beside the same with plain files, and the time of a MOVE in milliseconds. */
const maxGetRatio = 1.1;
const maxMoveMs = 20;

const columnName = ({ store, database }: StoreSite) => `${store}, ${database}`;

/** One row for each job, one column for each store. */
function grid(cells: readonly StoreCell[], corner: string, text: (cell: StoreCell) => string): Table {
  const columns = [...new Set(cells.map(({ site }) => columnName(site)))];
  const jobs = [...new Set(cells.map(({ job }) => job))];
  const rows = jobs.map((job) => [
    job,
    ...columns.map((column) => {
      const cell = cells.find((one) => one.job === job && columnName(one.site) === column);
      return cell === undefined ? "" : text(cell);
    }),
  ]);
  return { head: [corner, ...columns], rows };
}

/** costTable is the processor time of the server: the median of all rounds, and the two quartiles. */
export function costTable(cells: readonly StoreCell[]): Table {
  return grid(cells, "µs per request", ({ costs }) => {
    const [low, high] = [quantile(costs, 0.25), quantile(costs, 0.75)];
    return `${micros(median(costs))} (${micros(low)}–${micros(high)})`;
  });
}

/** helperTable is the processor time of PostgreSQL and SeaweedFS. */
export function helperTable(cells: readonly StoreCell[]): Table {
  const helped = cells.filter(({ site }) => site.helpers.length > 0);
  return grid(helped, "µs per request", ({ helperCosts }) => micros(median(helperCosts)));
}

/** waitTable is how long a single client waits, and in parentheses how much more memory the server has meanwhile. */
export function waitTable(cells: readonly StoreCell[]): Table {
  const alone = cells.filter(({ waits }) => waits.length > 0);
  return grid(
    alone,
    "one client",
    ({ waits, growths }) => `${ms(median(waits))} (${megabytes(median(growths))})`,
  );
}

/** judgeStores compares the figures of a whole run with the goals. */
export function judgeStores(cells: readonly StoreCell[]): Target[] {
  const gets = cells.filter(({ job }) => job === jobNames.get);
  const moveName = jobNames.move(sizesOf.full.move);
  const moves = cells.filter(({ job }) => job === moveName);
  return [
    ...gets.flatMap(({ site, costs }): Target[] => {
      const disk = gets.find((one) => one.site.store === "disk" && one.site.database === site.database);
      if (disk === undefined || site.store === "disk") return [];
      const times = median(costs) / median(disk.costs);
      return [
        {
          description: `${jobNames.get}, ${columnName(site)}: ${ratio(times)} × disk, at most ${maxGetRatio}`,
          met: times <= maxGetRatio,
        },
      ];
    }),
    ...moves
      .filter(({ site }) => site.store !== "disk")
      .map(
        ({ site, waits }): Target => ({
          description: `${moveName}, ${columnName(site)}: ${ms(median(waits))}, under ${count(maxMoveMs)} ms`,
          met: median(waits) < maxMoveMs,
        }),
      ),
  ];
}

/** TotalFigure is what something costs by the number of files in its bucket. */
export interface TotalFigure {
  readonly what: string;
  readonly database: DatabaseName;
  readonly unit: "ms" | "MB";
  readonly byTotal: ReadonlyMap<number, number>;
}

/** millionTable has one row for each thing that was measured, one column for each number of files and database. */
export function millionTable(figures: readonly TotalFigure[]): Table {
  const totals = [...new Set(figures.flatMap(({ byTotal }) => [...byTotal.keys()]))].sort((a, b) => a - b);
  const databases = [...new Set(figures.map(({ database }) => database))];
  const rows = [...new Set(figures.map(({ what }) => what))].map((what) => [
    what,
    ...databases.flatMap((database) => {
      const figure = figures.find((one) => one.what === what && one.database === database);
      return totals.map((total) => {
        const value = figure?.byTotal.get(total);
        if (value === undefined) return "";
        return figure?.unit === "MB" ? `${count(value)} MB` : ms(value);
      });
    }),
  ]);
  const head = databases.flatMap((database) => totals.map((total) => `${database}, ${count(total)}`));
  return { head: ["processor time", ...head], rows };
}

/** planTable is how each statement reads the rows. Equal ones, for paths of another depth, are one row. */
export function planTable(plans: readonly Plan[]): Table {
  const rows = new Map(
    plans.map(({ database, statement, reads }) => {
      const text = `\`${shortened(statement)}\``;
      const how = reads.length === 0 ? "nothing" : reads.map((read) => `\`${read}\``).join(", ");
      return [`${database} ${text} ${how}`, [database, text, how]];
    }),
  );
  return { head: ["", "statement", "reads"], rows: [...rows.values()] };
}

const maxStatementChars = 90;

function shortened(statement: string): string {
  const line = statement.replace(/\s+/g, " ").replaceAll("|", "\\|");
  return line.length <= maxStatementChars ? line : `${line.slice(0, maxStatementChars)}…`;
}
