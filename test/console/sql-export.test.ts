import { expect, test } from "bun:test";
import fc from "fast-check";
import { quoteName } from "../../src/console/editor/sql-name.ts";
import {
  columnWidths,
  countFormulas,
  isRounded,
  toCell,
  toCsv,
  toJson,
  toReadable,
} from "../../src/console/pages/sql/model.ts";
import { type CellPosition, headRow, stepTo } from "../../src/console/ui/cell-steps.ts";
import "./texts.ts";

test("CSV has a line of names, quotes where they are needed, and tells NULL from an empty text", () => {
  const rows = [
    { id: 1, "a,b": 'say "hi"', c: null, d: "", e: "two\nlines", f: { x: [1] } },
    { id: -2, "a,b": "plain", c: true, d: " ", e: 1.5, f: "x" },
  ];
  expect(toCsv(Object.keys(rows[0] ?? {}), rows)).toBe(
    'id,"a,b",c,d,e,f\r\n1,"say ""hi""",,"","two\nlines","{""x"":[1]}"\r\n-2,plain,true, ,1.5,x\r\n',
  );
});

test("text that a spreadsheet would run gets an apostrophe in CSV, numbers do not, and JSON is exact", () => {
  const rows = [{ a: "=1+1", b: "@SUM(A1)", c: "-5.20", d: -5, e: "-cmd", f: "+1e9" }];
  const columns = Object.keys(rows[0] ?? {});
  expect(toCsv(columns, rows).split("\r\n")[1]).toBe("'=1+1,'@SUM(A1),-5.20,-5,'-cmd,+1e9");
  expect(countFormulas(columns, rows)).toBe(3);
  expect(JSON.parse(toJson(rows))).toEqual(rows);
});

test("whoever reads CSV by RFC 4180 gets every text back", () => {
  const text = fc.string({ unit: fc.constantFrom("a", ",", '"', "\r", "\n", " ", "ä", "'") });
  fc.assert(
    fc.property(fc.array(fc.record({ x: text, y: text })), (rows) => {
      const read = readCsv(toCsv(["x", "y"], rows));
      const plain = rows.map(({ x, y }) =>
        [x, y].map((value) => (/^[\t\r]/.test(value) ? `'${value}` : value)),
      );
      expect(read).toEqual([["x", "y"], ...plain]);
    }),
  );
});

/** Parser for the grammar of RFC 4180 §2. */
function readCsv(csv: string): string[][] {
  const records: string[][] = [];
  let fields: string[] = [];
  for (const [, quoted, bare, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    fields.push(quoted?.replaceAll('""', '"') ?? bare ?? "");
    if (end === ",") continue;
    records.push(fields);
    fields = [];
  }
  return records;
}

test("a long value is cut to one line in the grid and whole in the viewer", () => {
  expect(toCell("a\nb\r\nc")).toBe("a⏎b⏎c");
  expect(toCell("x".repeat(5000))).toHaveLength(201);
  expect(toReadable('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(toReadable("[not json")).toBe("[not json");
  expect(toReadable("[9007199254740993]")).toBe("[9007199254740993]");
  expect([2 ** 53, 2 ** 53 - 1, 1.5, "9007199254740993"].map(isRounded)).toEqual([true, false, false, false]);
  expect(columnWidths(["id", "words"], [{ id: 1, words: "x".repeat(500) }])).toEqual([8, 40]);
});

test("names go into a statement in quotes where they would be read as something else", () => {
  expect(["token", "order", "Mixed", "a b", 'say"hi'].map(quoteName)).toEqual([
    "token",
    '"order"',
    '"Mixed"',
    '"a b"',
    '"say""hi"',
  ]);
});

test("no key leads out of the grid", () => {
  const key = fc.constantFrom(
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "PageUp",
    "PageDown",
    "Home",
    "End",
  );
  fc.assert(
    fc.property(
      fc.record({
        rows: fc.integer({ min: 1, max: 50 }),
        columns: fc.integer({ min: 1, max: 5 }),
        page: fc.constant(10),
      }),
      fc.array(fc.tuple(key, fc.boolean())),
      (size, keys) => {
        let at: CellPosition = { row: 0, column: 0 };
        for (const [name, ctrl] of keys) at = stepTo(name, ctrl, at, size) ?? at;
        expect(at.row >= headRow && at.row < size.rows && at.column >= 0 && at.column < size.columns).toBe(
          true,
        );
      },
    ),
  );
  const size = { rows: 9, columns: 4, page: 3 };
  expect(stepTo("ArrowUp", false, { row: 0, column: 1 }, size)).toEqual({ row: headRow, column: 1 });
  expect(stepTo("PageUp", false, { row: 1, column: 1 }, size)).toEqual({ row: 0, column: 1 });
  expect(stepTo("ArrowRight", false, { row: headRow, column: 1 }, size)).toEqual({ row: headRow, column: 2 });
  expect(stepTo("End", false, { row: 2, column: 1 }, size)).toEqual({ row: 2, column: 3 });
  expect(stepTo("a", false, { row: 0, column: 0 }, { rows: 1, columns: 1, page: 1 })).toBeUndefined();
});
