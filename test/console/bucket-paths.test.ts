import { expect, test } from "bun:test";
import fc from "fast-check";
import { entriesFrom, filtered, sorted } from "../../src/console/pages/buckets/files/entries.ts";
import { rangeTo, restrictTo, rowForKey, toggled } from "../../src/console/pages/buckets/files/selection.ts";
import { nameProblem, pathProblem, publicUrl } from "../../src/console/pages/buckets/path.ts";
import { movesProblem, movesTo, planMoves } from "../../src/console/pages/buckets/plan.ts";

const file = (name: string, size = 0, changed = 0) => ({ name, folder: false, size, changed });
const folder = (name: string, changed = 0) => ({ name, folder: true, size: undefined, changed });

test("a public address encodes every name for itself, and the HTTP root answers at the top", () => {
  expect(publicUrl("https://h", { bucket: "site", isRoot: false, path: "a b/50%#1.txt" })).toBe(
    "https://h/node/static/site/a%20b/50%25%231.txt",
  );
  expect(publicUrl("https://h", { bucket: "site", isRoot: true, path: "" })).toBe("https://h/");
  expect(publicUrl("https://h", { bucket: "site", isRoot: true, path: "img/x.png" })).toBe(
    "https://h/img/x.png",
  );
});

test("a file of the HTTP root that the server's own addresses hide is named by its bucket", () => {
  expect(publicUrl("https://h", { bucket: "site", isRoot: true, path: "node/x.js" })).toBe(
    "https://h/node/static/site/node/x.js",
  );
});

test("folders are derived from the paths of the files below them", () => {
  const listed = [
    { path: "a/b/one.txt", size: 1, mtime: 10 },
    { path: "a/b/c/two.txt", size: 2, mtime: 30 },
    { path: "a/b/c/three.txt", size: 3, mtime: 20 },
  ];
  expect(entriesFrom(listed, "a/b")).toEqual([file("one.txt", 1, 10), folder("c", 30)]);
  expect(entriesFrom(listed, "")).toEqual([folder("a", 30)]);
});

test("folders stand first in every order, and numbers in names count as numbers", () => {
  const entries = [file("page 10", 1, 3), file("page 2", 5, 1), folder("z"), folder("a", 9)];
  const names = (order: Parameters<typeof sorted>[1]) => sorted(entries, order).map(({ name }) => name);
  expect(names({ sort: "name", down: false })).toEqual(["a", "z", "page 2", "page 10"]);
  expect(names({ sort: "name", down: true })).toEqual(["z", "a", "page 10", "page 2"]);
  expect(names({ sort: "size", down: true })).toEqual(["a", "z", "page 2", "page 10"]);
  expect(names({ sort: "changed", down: false })).toEqual(["z", "a", "page 2", "page 10"]);
});

test("the filter finds a name in either Unicode form and in any case", () => {
  expect(filtered([file("E\u0301te\u0301.txt"), file("other")], "été")).toHaveLength(1);
});

test("names that cannot be are refused with a reason", () => {
  for (const name of ["", "a/b", "a\\b", ".", ".."]) expect(nameProblem(name)).toBeString();
  for (const path of ["", "/a", "a/", "a//b", "a/../b"]) expect(pathProblem(path)).toBeString();
  for (const path of ["a", "a/b c/%#&+.txt", "日本語/…"]) expect(pathProblem(path)).toBeUndefined();
});

test("one thing moves to a path, several into a folder, and a folder never into itself", () => {
  expect(movesTo("a", [file("x")], "b/y", true)).toEqual([{ from: "a/x", to: "b/y" }]);
  expect(movesTo("a", [file("x"), file("y")], "", false)).toEqual([
    { from: "a/x", to: "x" },
    { from: "a/y", to: "y" },
  ]);
  expect(movesTo("a", [file("x")], "a/x", true)).toEqual([]);
  const inside = movesTo("", [folder("a"), folder("b")], "a/deep", false);
  expect(movesProblem("a/deep", inside, false)).toContain("into itself");
});

test("moves are planned from the folder that is shown, and ask for nothing that is missing", async () => {
  const there: Record<string, { name: string; folder: boolean }[]> = {
    "": [{ name: "a", folder: true }],
    a: [
      { name: "b", folder: true },
      { name: "taken", folder: false },
    ],
    "a/b": [{ name: "x", folder: false }],
  };
  const looks: string[] = [];
  const plan = (path: string, names: readonly string[], target: string, toPath = false) =>
    planMoves(
      path,
      movesTo(
        path,
        names.map((name) => file(name)),
        target,
        toPath,
      ),
      async (folder) => {
        looks.push(folder);
        return there[folder] ?? [];
      },
    );
  expect(await plan("a/b", ["x"], "a/b/y", true)).toEqual({ replacing: [], missing: [] });
  expect(looks.splice(0)).toEqual(["a/b"]);
  expect(await plan("a/b", ["x"], "a/new/er/x", true)).toEqual({
    replacing: [],
    missing: ["a/new", "a/new/er"],
  });
  expect(looks.splice(0)).toEqual(["a"]);
  expect(await plan("a/b", ["taken"], "a")).toEqual({ replacing: ["taken"], missing: [] });
  expect(looks.splice(0)).toEqual(["a"]);
});

test("a range is all between its ends, from whichever it begins", () => {
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
  const row = fc.nat(19);
  fc.assert(
    fc.property(row, row, (from, to) => {
      const started = toggled({ chosen: new Set(), active: undefined, anchor: undefined }, `n${from}`);
      const { chosen, active } = rangeTo(started, `n${to}`, names);
      expect([...chosen]).toEqual(names.slice(Math.min(from, to), Math.max(from, to) + 1));
      expect(active).toBe(`n${to}`);
    }),
  );
});

test("what has left the list leaves the selection", () => {
  const selection = { chosen: new Set(["a", "b"]), active: "a", anchor: "b" };
  expect(restrictTo(selection, ["b", "c"])).toEqual({
    chosen: new Set(["b"]),
    active: undefined,
    anchor: "b",
  });
});

test("keys never lead out of the list", () => {
  const keys = fc.constantFrom("ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End");
  fc.assert(
    fc.property(keys, fc.integer({ min: -1, max: 9 }), (key, row) => {
      const next = rowForKey(key, row, 10, 4);
      expect(next).toBeGreaterThanOrEqual(0);
      expect(next).toBeLessThan(10);
    }),
  );
  expect(rowForKey("ArrowDown", -1, 10, 4)).toBe(0);
  expect(rowForKey("x", 1, 10, 4)).toBeUndefined();
  expect(rowForKey("End", -1, 0, 4)).toBeUndefined();
});
