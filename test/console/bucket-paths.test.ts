import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  conflictsOf,
  copyName,
  type Entry,
  entriesFrom,
  entryForKey,
  filtered,
  type OnConflict,
  outermost,
  planMove,
  rangeTo,
  renameProblem,
  restrictTo,
  sorted,
  stepsOf,
  type Transfer,
  toggled,
  transferProblem,
} from "../../src/console/pages/buckets/files/model.ts";
import { nameProblem, pathProblem, publicUrl } from "../../src/console/pages/buckets/path.ts";
import "./texts.ts";

const file = (name: string, size = 0, changed = 0) => ({ name, folder: false, size, changed });
const folder = (name: string, changed?: number) => ({ name, folder: true, size: undefined, changed });

test("a public address encodes every name for itself, and the HTTP root answers at the top", () => {
  expect(publicUrl("https://h", { name: "site", path: "a b/50%#1.txt" })).toBe(
    "https://h/node/static/site/a%20b/50%25%231.txt",
  );
  expect(publicUrl("https://h", { name: "site", site: { is_http_root: true, hosts: [] }, path: "" })).toBe(
    "https://h/",
  );
  expect(
    publicUrl("https://h", { name: "site", site: { is_http_root: true, hosts: [] }, path: "img/x.png" }),
  ).toBe("https://h/img/x.png");
});

test("a file of the HTTP root that the server's own addresses hide is named by its bucket", () => {
  expect(
    publicUrl("https://h", { name: "site", site: { is_http_root: true, hosts: [] }, path: "node/x.js" }),
  ).toBe("https://h/node/static/site/node/x.js");
});

test("a bucket with a host name is found there, at the port of the server", () => {
  const site = { is_http_root: true, hosts: ["docs.example.org", "www.example.org"] };
  expect(publicUrl("https://h", { name: "site", site, path: "a b.txt" })).toBe(
    "https://docs.example.org/a%20b.txt",
  );
  expect(publicUrl("http://h:2211", { name: "site", site, path: "" })).toBe("http://docs.example.org:2211/");
  expect(publicUrl("https://h", { name: "site", site, path: "node/x" })).toBe(
    "https://h/node/static/site/node/x",
  );
});

test("folders are derived from the paths of the files below them", () => {
  const listed = [
    { path: "a/b/one.txt", size: 1, mtime: 10 },
    { path: "a/b/c/two.txt", size: 2, mtime: 30 },
    { path: "a/b/c/three.txt", size: 3, mtime: 20 },
  ];
  expect(entriesFrom(listed, "a/b")).toEqual([file("one.txt", 1, 10), folder("c")]);
  expect(entriesFrom(listed, "")).toEqual([folder("a")]);
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

test("a folder is not renamed into itself", () => {
  expect(renameProblem("a", "a/deep")).toContain("into itself");
  expect(renameProblem("a", "ab")).toBeUndefined();
});

test("a move is planned from the folder that is shown, and asks for nothing that is missing", async () => {
  const there: Record<string, { name: string; folder: boolean }[]> = {
    "": [{ name: "a", folder: true }],
    a: [
      { name: "b", folder: true },
      { name: "taken", folder: false },
    ],
    "a/b": [{ name: "x", folder: false }],
  };
  const looks: string[] = [];
  const plan = (path: string, from: string, to: string) =>
    planMove(path, { from, to }, async (folder) => {
      looks.push(folder);
      return there[folder] ?? [];
    });
  expect(await plan("a/b", "a/b/x", "a/b/y")).toEqual({ replacing: undefined, missing: [] });
  expect(looks.splice(0)).toEqual(["a/b"]);
  expect(await plan("a/b", "a/b/x", "a/new/er/x")).toEqual({
    replacing: undefined,
    missing: ["a/new", "a/new/er"],
  });
  expect(looks.splice(0)).toEqual(["a"]);
  expect(await plan("a/b", "a/b/x", "a/taken")).toEqual({ replacing: "taken", missing: [] });
  expect(looks.splice(0)).toEqual(["a"]);
});

const into = (kind: Transfer["kind"], path: string, entries: readonly Entry[]): Transfer => ({
  kind,
  path,
  entries,
});

test("nothing is moved or copied into itself, and nothing moved to where it is", () => {
  const transfer = into("move", "a", [folder("b"), file("x")]);
  expect(transferProblem(transfer, "a")).toContain("already");
  expect(transferProblem(transfer, "a/b")).toContain("b cannot be moved into itself");
  expect(transferProblem(transfer, "a/b/deep")).toContain("into itself");
  expect(transferProblem(transfer, "a/bc")).toBeUndefined();
  expect(transferProblem(transfer, "")).toBeUndefined();
  expect(transferProblem({ ...transfer, kind: "copy" }, "a")).toBeUndefined();
  expect(transferProblem({ ...transfer, kind: "copy" }, "a/b")).toContain("copied into itself");
});

test("names that exist at the destination are skipped, replaced, or kept beside a new name", () => {
  const transfer = into("move", "a", [file("x.txt"), file("y.txt")]);
  const taken = ["y.txt", "y copy.txt"];
  expect(conflictsOf(transfer, "b", taken)).toEqual(["y.txt"]);
  const free = { from: "a/x.txt", to: "b/x.txt", replaces: false };
  const steps = (onConflict: OnConflict) => stepsOf(transfer, "b", { taken, onConflict });
  expect(steps("skip")).toEqual([free]);
  expect(steps("replace")).toEqual([free, { from: "a/y.txt", to: "b/y.txt", replaces: true }]);
  expect(steps("both")).toEqual([free, { from: "a/y.txt", to: "b/y copy 2.txt", replaces: false }]);
});

test("results of a search go into a folder from several ones, and none takes the place of another", () => {
  const found = into("move", "", [file("a/x.txt"), file("b/x.txt"), file("c/y.txt")]);
  expect(transferProblem(found, "c")).toBeUndefined();
  expect(transferProblem(into("move", "", [file("c/y.txt")]), "c")).toContain("already");
  expect(conflictsOf(found, "c", ["y.txt"])).toEqual([]);
  expect(conflictsOf(found, "d", ["y.txt"])).toEqual(["y.txt"]);
  for (const onConflict of ["skip", "replace", "both"] as const)
    expect(stepsOf(found, "c", { taken: ["y.txt"], onConflict })).toEqual([
      { from: "a/x.txt", to: "c/x.txt", replaces: false },
      { from: "b/x.txt", to: "c/x copy.txt", replaces: false },
    ]);
  const nested = [folder("a"), file("a/b/x.txt"), file("ab/y.txt"), file("z.txt")];
  expect(outermost(nested).map(({ name }) => name)).toEqual(["a", "ab/y.txt", "z.txt"]);
});

test("a copy beside its original gets the first free name", () => {
  const used = new Set(["a copy.txt", "docs copy", "docs copy 2"]);
  const name = (text: string, folder = false) => copyName(text, { folder, used });
  expect(name("b.txt")).toBe("b copy.txt");
  expect(name("a.txt")).toBe("a copy 2.txt");
  expect(name("a copy.txt")).toBe("a copy 2.txt");
  expect(name("site.tar.gz")).toBe("site copy.tar.gz");
  expect(name(".env")).toBe(".env copy");
  expect(name("docs", true)).toBe("docs copy 3");
  expect(name("v1.2", true)).toBe("v1.2 copy");
  const twice = into("copy", "", [file("a.txt"), file("a copy.txt")]);
  const steps = stepsOf(twice, "", { taken: ["a.txt", "a copy.txt"], onConflict: "skip" });
  expect(steps.map(({ to }) => to)).toEqual(["a copy 2.txt", "a copy 3.txt"]);
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

test("keys never lead out of the list, in any number of columns", () => {
  const keys = fc.constantFrom("ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End");
  const columns = fc.integer({ min: 1, max: 12 });
  fc.assert(
    fc.property(keys, fc.integer({ min: -1, max: 9 }), columns, (key, at, columns) => {
      const next = entryForKey(key, at, { count: 10, page: 4, columns });
      expect(next).toBeGreaterThanOrEqual(0);
      expect(next).toBeLessThan(10);
    }),
  );
  expect(entryForKey("ArrowDown", -1, { count: 10, page: 4 })).toBe(0);
  expect(entryForKey("x", 1, { count: 10, page: 4 })).toBeUndefined();
  expect(entryForKey("End", -1, { count: 0, page: 4 })).toBeUndefined();
  expect(entryForKey("ArrowRight", 1, { count: 10, page: 4 })).toBeUndefined();
});

test("the arrows move in two dimensions in a grid, and keep the column", () => {
  // 0 1 2 3 / 4 5 6 7 / 8 9
  const next = (key: string, at: number) => entryForKey(key, at, { count: 10, page: 2, columns: 4 });
  expect([next("ArrowRight", 3), next("ArrowLeft", 4), next("ArrowRight", 9)]).toEqual([4, 3, 9]);
  expect([next("ArrowDown", 1), next("ArrowUp", 5), next("ArrowUp", 2)]).toEqual([5, 1, 2]);
  // There is nothing below 7 in the last line.
  expect([next("ArrowDown", 7), next("ArrowDown", 9), next("PageDown", 0)]).toEqual([9, 9, 8]);
});
