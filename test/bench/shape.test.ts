import { expect, test } from "bun:test";
import { describe, shapeOf } from "../../bench/shape.ts";

function curve(costOf: (n: number) => number) {
  const points = [1, 10, 100, 1000, 10_000].map((n) => ({ n, cost: costOf(n) }));
  return { request: "GET", of: "files", points };
}

test("The benchmark tells constant, linear and worse curves apart", () => {
  const shapes = [
    () => 20,
    (n: number) => 20 + n * 1e-4,
    (n: number) => 20 + n,
    (n: number) => 20 + n ** 1.5,
  ].map((costOf) => shapeOf(curve(costOf)).shape);
  expect(shapes).toEqual(["constant", "constant", "linear", "worse than linear"]);
});

test("The benchmark takes a disturbed point for noise, if the cost is low again afterwards", () => {
  expect(shapeOf(curve((n) => (n === 100 ? 90 : 20))).shape).toBe("constant");
});

test("The benchmark says up to where a curve is constant, and that zero has no place on it", () => {
  const stepped = curve((n) => (n > 1000 ? 200 : 20));
  expect(describe(stepped)).toContain("constant up to 1,000, then linear");
  const fromZero = { ...stepped, points: [{ n: 0, cost: 1 }, ...stepped.points] };
  expect(describe(fromZero)).toBe(describe(stepped));
});
