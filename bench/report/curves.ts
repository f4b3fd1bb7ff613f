import type { Curve, Point } from "../growth-point.ts";
import { type Panel, panelWidth, round, svgGrid, svgText } from "./svg.ts";

const plot = { left: 48, width: panelWidth - 60, height: 190 };

/** The picture of how cost grows: both axes in powers of ten, a panel for each thing there is more and more of. */
export function growthPicture(curves: readonly Curve[]): string {
  const subjects = [...new Set(curves.map((curve) => curve.of))];
  const panels = subjects.map((subject) =>
    panel(
      subject,
      curves.filter((curve) => curve.of === subject),
    ),
  );
  return svgGrid("Processor time per request while the amount of data grows; dashed: linear growth", panels);
}

interface Axes {
  readonly top: number;
  x(n: number): number;
  y(cost: number): number;
  readonly xDecades: readonly number[];
  readonly yDecades: readonly number[];
}

function panel(subject: string, curves: readonly Curve[]): Panel {
  const legend = 20 + curves.length * 16;
  const axes = makeAxes(curves, legend + 10);
  const bottom = axes.top + plot.height;
  const parts = [
    svgText({ x: 0, y: 12, text: `by ${subject}`, size: 13 }),
    ...curves.map(({ request }, at) =>
      svgText({ x: plot.left, y: 30 + at * 16, text: request, className: `c${at}` }),
    ),
    ...axes.xDecades.map((n) => vertical(n, axes)),
    ...axes.yDecades.map((cost) => horizontal(cost, axes)),
    `<path class="axis" fill="none" d="M${plot.left} ${axes.top}V${bottom}H${plot.left + plot.width}"/>`,
    ...curves.map((curve, at) => draw(curve, at, axes)),
  ];
  return { height: bottom + 20, body: parts.join("\n") };
}

function makeAxes(curves: readonly Curve[], top: number): Axes {
  const points = curves.flatMap((curve) => drawn(curve));
  const xDecades = decades(points.map(({ n }) => n));
  const yDecades = decades(points.map(({ cost }) => cost));
  const place = (value: number, scale: readonly number[]) => {
    const [low = 1, high = 1] = [scale[0], scale.at(-1)];
    return Math.log(value / low) / Math.log(high / low);
  };
  return {
    top,
    xDecades,
    yDecades,
    x: (n) => plot.left + place(n, xDecades) * plot.width,
    y: (cost) => top + (1 - place(cost, yDecades)) * plot.height,
  };
}

/** Zero has no place on an axis of powers; the table has it. */
function drawn({ points }: Curve): readonly Point[] {
  return points.filter(({ n }) => n > 0);
}

/** The powers of ten around the values, at least two. */
function decades(values: readonly number[]): number[] {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
}

function vertical(n: number, { x, top }: Axes): string {
  const at = round(x(n));
  const text = n < 1000 ? String(n) : `${n / 1000}k`;
  return `<path class="grid" d="M${at} ${top}v${plot.height}"/>${svgText({ x: at, y: top + plot.height + 15, text, anchor: "middle", className: "soft", size: 11 })}`;
}

function horizontal(cost: number, { y }: Axes): string {
  const at = round(y(cost));
  const text = cost < 1000 ? `${cost} µs` : cost < 1e6 ? `${cost / 1000} ms` : `${cost / 1e6} s`;
  return `<path class="grid" d="M${plot.left} ${at}h${plot.width}"/>${svgText({ x: plot.left - 6, y: at + 4, text, anchor: "end", className: "soft", size: 11 })}`;
}

function draw(curve: Curve, at: number, { x, y, xDecades, yDecades }: Axes): string {
  const points = drawn(curve);
  const [first] = points;
  if (first === undefined) return "";
  const places = points.map(({ n, cost }) => [round(x(n)), round(y(cost))] as const);
  const most = Math.min(xDecades.at(-1) ?? 1, (first.n * (yDecades.at(-1) ?? 1)) / first.cost);
  return [
    `<path class="linear" d="M${round(x(first.n))} ${round(y(first.cost))}L${round(x(most))} ${round(y((first.cost * most) / first.n))}"/>`,
    `<polyline class="l${at}" fill="none" stroke-width="2" points="${places.map((place) => place.join()).join(" ")}"/>`,
    ...places.map(([cx, cy]) => `<circle class="c${at}" cx="${cx}" cy="${cy}" r="3"/>`),
  ].join("");
}
