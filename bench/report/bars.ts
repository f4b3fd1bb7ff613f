import { type Cell, type Costs, costOf, findCell, spreadOf } from "../cost.ts";
import { micros } from "../figures.ts";
import { jobs } from "../jobs.ts";
import { ours } from "../servers/contenders.ts";
import { type Panel, panelWidth, round, svgGrid, svgText } from "./svg.ts";

const lineHeight = 20;
const numberWidth = 44;
/** A bar that is more than so many times as long as ours is cut off. */
const maxTimesOurs = 4;

/** The picture of the cost table: a panel for each request that other servers can answer, and one with our own calls. */
export function costPicture(costs: Costs): string {
  const compared = jobs.filter((job) => costs.cells.filter((cell) => cell.job === job.name).length > 1);
  const own = jobs.filter((job) => !compared.includes(job));
  const panels = compared.map(({ name }) =>
    panel(
      { title: name, labelWidth: 104 },
      costs.servers.flatMap((server) => {
        const cell = findCell(costs, name, server);
        return cell === undefined ? [] : [{ label: server, cell }];
      }),
    ),
  );
  const pages = [own.slice(0, 7), own.slice(7)].map((part) =>
    panel(
      { title: "other requests to node-server", labelWidth: 140 },
      part.flatMap(({ name }) => {
        const cell = findCell(costs, name);
        return cell === undefined ? [] : [{ label: shortName(name), cell }];
      }),
    ),
  );
  const sorted = [...panels, ...pages].sort((a, b) => b.height - a.height);
  return svgGrid("Processor time per request in microseconds: less is better", sorted);
}

function shortName(job: string): string {
  return job
    .replace(/^authenticated call.*/, "authenticated")
    .replace("hello with a log event, ", "log, ")
    .replace("WebDAV PUT 4 KiB, synced", "PUT synced")
    .replace(/ 4 KiB, (not )?synced/, ", $1synced")
    .replace(/: `select 1`| files| 4 KiB/g, "")
    .replaceAll("`", "");
}

interface Bar {
  readonly label: string;
  readonly cell: Cell;
}

interface Look {
  readonly title: string;
  readonly labelWidth: number;
}

function panel({ title, labelWidth }: Look, bars: readonly Bar[]): Panel {
  const values = bars.map(({ cell }) => costOf(cell));
  const own = bars.find(({ cell }) => cell.server === ours);
  const isCompared = new Set(bars.map(({ cell }) => cell.server)).size > 1;
  const longest = Math.max(...values);
  const scale =
    own !== undefined && isCompared ? Math.min(longest, maxTimesOurs * costOf(own.cell)) : longest;
  const lines = bars.map((bar, at) => line(bar, 26 + at * lineHeight, { scale, labelWidth }));
  const head = svgText({ x: 0, y: 12, text: title, size: 13 });
  return { height: 26 + bars.length * lineHeight, body: [head, ...lines].join("\n") };
}

interface Scale {
  readonly scale: number;
  readonly labelWidth: number;
}

function line({ label, cell }: Bar, y: number, { scale, labelWidth }: Scale): string {
  const barWidth = panelWidth - labelWidth - numberWidth;
  const x = (value: number) => labelWidth + Math.min(1, value / scale) * barWidth;
  const value = costOf(cell);
  const isCut = value > scale * 1.001;
  const middle = y + 7;
  const [low, high] = spreadOf(cell);
  const className = cell.server === ours ? "ours" : "other";
  return [
    svgText({
      x: labelWidth - 8,
      y: y + 11,
      text: label,
      anchor: "end",
      className: className === "ours" ? "text" : "soft",
    }),
    `<rect class="${className}" x="${labelWidth}" y="${y}" width="${round(x(value) - labelWidth)}" height="14" rx="2"/>`,
    isCut
      ? `<path class="page" d="M${labelWidth + barWidth - 14} ${y - 1}l4 0l-4 16l-4 0z"/>`
      : `<path class="whisker" d="M${round(x(low))} ${middle}H${round(x(high))}"/>`,
    svgText({ x: labelWidth + barWidth + 6, y: y + 11, text: micros(value) }),
  ].join("");
}
