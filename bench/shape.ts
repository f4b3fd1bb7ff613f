import { count, micros } from "./figures.ts";
import type { Curve, Point } from "./growth-point.ts";

/** A curve whose end is within this factor of its cheapest point is constant: such a difference is noise, or a warmer cache. */
const constantWithin = 1.5;
/** The exponent of a line, with the noise of two points a decade apart: a factor of 1.6. */
const maxLinearExponent = 1.2;
const minLinearExponent = 0.6;

export type Shape = "constant" | "less than linear" | "linear" | "worse than linear";

interface Slope {
  readonly from: Point;
  readonly to: Point;
  readonly exponent: number;
}

/** shapeOf classifies a curve by its steepest part: cost ~ n to the power of the exponent. */
export function shapeOf({ points }: Curve): { readonly shape: Shape; readonly steepest: Slope | undefined } {
  const drawn = points.filter(({ n }) => n > 0);
  const costs = drawn.map(({ cost }) => cost);
  const slopes = drawn.slice(1).map((to, at): Slope => {
    const from = drawn[at] ?? to;
    return { from, to, exponent: Math.log(to.cost / from.cost) / Math.log(to.n / from.n) };
  });
  const steepest = slopes.toSorted((a, b) => b.exponent - a.exponent)[0];
  if (steepest === undefined || (costs.at(-1) ?? 0) <= constantWithin * Math.min(...costs))
    return { shape: "constant", steepest };
  if (steepest.exponent > maxLinearExponent) return { shape: "worse than linear", steepest };
  return { shape: steepest.exponent >= minLinearExponent ? "linear" : "less than linear", steepest };
}

/** A sentence about a curve, from its figures. */
export function describe(curve: Curve): string {
  const { shape, steepest } = shapeOf(curve);
  const [first, last] = [curve.points.find(({ n }) => n > 0), curve.points.at(-1)];
  if (first === undefined || last === undefined || steepest === undefined)
    return `${curve.request}: one point.`;
  const ends = `${micros(first.cost)} µs with ${count(first.n)}, ${micros(last.cost)} µs with ${count(last.n)}`;
  const where = `between ${count(steepest.from.n)} and ${count(steepest.to.n)}`;
  const steep =
    shape === "constant" ? "" : `; steepest ${where}, with an exponent of ${steepest.exponent.toFixed(2)}`;
  const flat = shape === "constant" ? undefined : flatUntil(curve);
  const words = flat === undefined ? shape : `constant up to ${count(flat)}, then ${shape}`;
  return `${curve.request}, by ${curve.of}: **${words}** (${ends}${steep}).`;
}

/** Up to where a curve is constant; undefined if that is less than two decades. */
function flatUntil({ points }: Curve): number | undefined {
  const [first, ...others] = points.filter(({ n }) => n > 0);
  if (first === undefined) return undefined;
  const end = others.findIndex(({ cost }) => cost > constantWithin * first.cost);
  const last = others[end - 1];
  return last !== undefined && last.n >= 100 * first.n ? last.n : undefined;
}
