import { expect, test } from "bun:test";
import fc from "fast-check";
import { decimalNumber, qualityIn, wholeNumber } from "../../src/base/numbers.ts";

test("a text of digits is a whole number; one that is too large counts as the largest", () => {
  expect(["0", "5", "007", "9007199254740991"].map(wholeNumber)).toEqual([0, 5, 7, Number.MAX_SAFE_INTEGER]);
  expect(["9007199254740993", "9".repeat(400)].map(wholeNumber)).toEqual([
    Number.MAX_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
  ]);
  const others = [
    "",
    " 5",
    "5 ",
    "+5",
    "-5",
    "5.0",
    "5, 5",
    "0x5",
    "5e1",
    "NaN",
    "Infinity",
    "٥",
    null,
    undefined,
  ];
  expect(others.map(wholeNumber)).toEqual(others.map(() => undefined));
});

test("a decimal may have a sign and a fraction, and nothing else", () => {
  expect(["-12.5", "3", "3."].map(decimalNumber)).toEqual([-12.5, 3, 3]);
  const others = ["", " 1", "1e3", "0x1", "+1", ".5", "1,5", "Infinity", null, undefined];
  expect(others.map(decimalNumber)).toEqual(others.map(() => undefined));
});

test("a weight is between 0 and 1; one that cannot be read is 0", () => {
  expect([["q=0.5"], ["a=b", "q=1"], [], ["q=7"], ["q=-1"], ["q=x"], ["q="]].map(qualityIn)).toEqual([
    ...[0.5, 1, 1, 1, 0, 0, 0],
  ]);
});

test("no text becomes NaN or an infinite number", () => {
  const text = fc.oneof(fc.string(), fc.double().map(String), fc.bigInt().map(String));
  fc.assert(
    fc.property(text, (given) => {
      for (const value of [wholeNumber(given), decimalNumber(given), qualityIn([`q=${given}`])])
        expect(value === undefined || Number.isFinite(value)).toBe(true);
    }),
  );
});
