import { type Cell, type Costs, costOf, findCell, spreadOf } from "../cost.ts";
import { count, micros, perSecond, quantile, ratio, type Table } from "../figures.ts";
import type { Curve } from "../growth-point.ts";
import { jobs } from "../jobs.ts";
import { bare as bareServer, least, ours } from "../servers/contenders.ts";
import type { StartLine } from "../start.ts";
import type { Ratio } from "../targets.ts";

/** Every request with every server: the median of all rounds, and the two quartiles. */
export function costTable(costs: Costs): Table {
  return {
    head: ["µs per request", ...costs.servers],
    rows: jobs.map(({ name }) => [
      name,
      ...costs.servers.map((server) => {
        const cell = findCell(costs, name, server);
        return cell === undefined ? "" : `${micros(costOf(cell))} (${spreadOf(cell).map(micros).join("–")})`;
      }),
    ]),
  };
}

/** The cheapest server that is not ours. The bare one is the last choice: it serves no files that anybody could use. */
function cheapestPeer(costs: Costs, job: string): Cell | undefined {
  const others = costs.cells.filter((cell) => cell.job === job && ![ours, least].includes(cell.server));
  const native = others.filter((cell) => cell.server !== bareServer);
  return (native.length > 0 ? native : others).toSorted((a, b) => costOf(a) - costOf(b))[0];
}

/** startTable compares a start with that of a server that does nothing else. */
export function startTable(starts: readonly StartLine[]): Table {
  return {
    head: ["", ours, bareServer, "goal"],
    rows: starts.map(({ what, ours: own, bare, target, met }) => [
      what,
      own,
      bare,
      `${target}: ${verdict(met)}`,
    ]),
  };
}

/** summaryTable has the requests that another server answers too, or that have a goal. */
export function summaryTable(costs: Costs, ratios: readonly Ratio[]): Table {
  const rows = jobs.flatMap(({ name }) => {
    const [own, peer] = [findCell(costs, name), cheapestPeer(costs, name)];
    const target = ratios.find(({ job }) => job === name);
    if (own === undefined || (peer === undefined && target === undefined)) return [];
    return [
      [
        name,
        `${micros(costOf(own))} µs`,
        peer === undefined ? "" : `${peer.server}: ${micros(costOf(peer))} µs`,
        peer === undefined ? "" : ratio(costOf(own) / costOf(peer)),
        target === undefined
          ? ""
          : `${ratio(target.ratio)} × hello, at most ${target.limit}: ${verdict(target.met)}`,
      ],
    ];
  });
  return { head: ["", ours, "cheapest other", "ratio", "goal"], rows };
}

function verdict(met: boolean): string {
  return met ? "met" : "missed";
}

export function rateTable(costs: Costs): Table {
  return {
    head: ["", "requests per second", "quartiles"],
    rows: jobs.flatMap(({ name, showsRate }) => {
      const cell = showsRate ? findCell(costs, name) : undefined;
      if (cell === undefined) return [];
      const at = (share: number) => perSecond(quantile(cell.rates, share));
      return [[name, at(0.5), `${at(0.25)} – ${at(0.75)}`]];
    }),
  };
}

export function growthTable(curves: readonly Curve[]): Table {
  const sizes = [...new Set(curves.flatMap(({ points }) => points.map(({ n }) => n)))].sort((a, b) => a - b);
  return {
    head: ["µs per request", "by", ...sizes.map(count)],
    rows: curves.map(({ request, of, points }) => [
      request,
      of,
      ...sizes.map((size) => {
        const found = points.find(({ n }) => n === size);
        return found === undefined ? "" : micros(found.cost);
      }),
    ]),
  };
}
