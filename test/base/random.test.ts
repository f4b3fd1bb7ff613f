import { expect, test } from "bun:test";
import { randomText } from "../../src/base/numbers.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

test.each([0, 1, 16, 32, 1000])("a random text of %d characters has letters and digits only", (length) => {
  expect(randomText(length)).toMatch(new RegExp(`^[A-Za-z0-9]{${length}}$`));
});

test("every character of the alphabet turns up about equally often", () => {
  const length = 62_000;
  const counts = new Map<string, number>();
  for (const letter of randomText(length)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect([...counts.keys()].sort()).toEqual([...alphabet].sort());
  // 1,000 expected of each with a deviation of 32: eight of them away is no accident. A modulo over all 256 bytes
  // would give eight letters a quarter more.
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(250);
  const favoured = [..."ABCDEFGH"].reduce((sum, letter) => sum + (counts.get(letter) ?? 0), 0);
  expect(favoured).toBeLessThan(8 * 1100);
});

test("no two random texts are alike", () => {
  expect(new Set(Array.from({ length: 10_000 }, () => randomText(16))).size).toBe(10_000);
});
