import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  childPath,
  isBelow,
  listedPath,
  parseSegment,
  parseTreePath,
  segmentsOf,
  splitPath,
  transplant,
  treePath,
  treeRoot,
  withAncestors,
} from "../../src/buckets/path.ts";

const texts = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.constantFrom("a", "é", ".", "..", "", "\\", "\0", "C:", "\ud800", ".~staged-x", "x y"), {
      minLength: 1,
      maxLength: 5,
    })
    .map((names) => names.join("/")),
);

test("a text is a path exactly when all of its names are segments and it does not begin with a drive letter", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const isPath =
        !/^[A-Za-z]:/.test(text) && text.split("/").every((name) => parseSegment(name) !== undefined);
      expect(parseTreePath(text) !== undefined).toBe(isPath || text === "");
      if (isPath) expect(treePath(text) as string).toBe(text);
      else expect(() => treePath(text)).toThrow();
    }),
  );
});

test("a path taken apart and put together again is the same path", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const path = parseTreePath(text);
      if (path === undefined || path === treeRoot) return;
      expect(segmentsOf(path).reduce(childPath, treeRoot)).toBe(path);
      const { folder, name } = splitPath(path);
      expect(childPath(folder, name)).toBe(path);
      expect(listedPath(folder, name)).toBe(path);
      expect(isBelow(path, folder)).toBe(true);
      expect(withAncestors(path).length).toBe(segmentsOf(path).length + 1);
      expect(transplant(path, folder, treePath("new/place"))).toBe(treePath(`new/place/${name}`));
    }),
  );
});

test("names on the disk that no path can contain are not listed", () => {
  for (const name of ["a\\b", ".~staged-x", "..", ".", ""])
    expect(listedPath(treePath("x"), name)).toBeUndefined();
  expect(listedPath(treeRoot, "C:x")).toBeUndefined();
  expect(listedPath(treePath("x"), "C:x")).toBe(treePath("x/C:x"));
});
