import { count, median, ms, type Table, type Target } from "../figures.ts";
import { type DeployCell, type DeployFigure, type DeployFigures, steps } from "./measure.ts";

/** The goal for a publication and a rollback, whatever the size. */
const maxSwitchMs = 50;

const seconds = (value: number) => `${value.toFixed(2)} s`;

function middle(cell: DeployCell, step: number, of: (figure: DeployFigure) => number): number {
  return median((cell.rounds[step] ?? []).map(of));
}

/** deployTable has for each way the time that passed, and in parentheses the processor time of the program and of the server. */
export function deployTable({ cells }: DeployFigures): Table {
  return {
    head: ["", "store", ...steps],
    rows: cells.map((cell) => [
      cell.way,
      cell.store,
      ...steps.map((_, step) => {
        const of = (value: (figure: DeployFigure) => number) => seconds(middle(cell, step, value));
        return `${of(({ passed }) => passed)} (${of(({ client }) => client)} + ${of(({ server }) => server)})`;
      }),
    ]),
  };
}

export function switchTable({ switches }: DeployFigures): Table {
  return {
    head: ["store", "files", "publish", "rollback"],
    rows: switches.map(({ store, files, published, back }) => [
      store,
      count(files),
      ms(median(published)),
      ms(median(back)),
    ]),
  };
}

export function judgeSwitches({ switches }: DeployFigures): Target[] {
  return switches.map(({ store, files, published, back }) => ({
    description: `a deploy of ${count(files)} files published and rolled back within ${maxSwitchMs} ms each, ${store}`,
    met: Math.max(median(published), median(back)) <= maxSwitchMs,
  }));
}

/** siteLine says what was deployed. */
export function siteLine({ files, bytes }: DeployFigures): string {
  return `The time that a site of ${count(files)} files, ${(bytes / 1e6).toFixed(1)} MB, takes`;
}
