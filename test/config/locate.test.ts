import { expect, test } from "bun:test";
import fc from "fast-check";
import { parse } from "smol-toml";
import { KeyIndex, unclosedQuote } from "../../src/config/locate.ts";

const locate = (text: string, path: readonly string[]) => new KeyIndex(text).locate(path);

interface Written {
  readonly path: readonly string[];
  /** The dotted key as it stands in the text. */
  readonly text: string;
}

/** Values whose insides look like keys, tables, comments or ends. */
const values = [
  "1",
  "-0.5",
  "true",
  "1979-05-27T07:32:00Z",
  '"# no = comment"',
  '"quote \\" and \\\\"',
  "'it = \"x\" # y'",
  '""',
  '"""\nlisten = 1\n[table]\n# text\n\\""" still """',
  '"""ends in two quotes"""""',
  "'''\nlisten = 1\n[table]\n'' still '''",
  "[1, 2]",
  '[\n  "a ] b", # ]\n  [ { x = "}" } ],\n]',
  "[]",
  '{ a = 1, "b c" = [ 2 ], d.e = "}" }',
  "{}",
] as const;

/** Lines between statements. */
const fillers = ["", "\n", "   \n", "# listen = 1\n", "\t# [table]\n\n", '# """\n'] as const;

const piece = fc.constantFrom("plain", "with-dash", "1234", "d.ot", "sp ace", "é", "#=[]", "]'", 'q"q', "");

function spell(name: string, style: number): string {
  if (style === 0 && /^[\w-]+$/.test(name)) return name;
  if (style === 1 && !name.includes("'")) return `'${name}'`;
  return JSON.stringify(name).replace("é", style === 2 ? "\\u00e9" : "é");
}

/** A dotted key whose first part is unlike all others. */
const written = (mark: string): fc.Arbitrary<Written> =>
  fc
    .tuple(
      fc.array(fc.tuple(piece, fc.nat({ max: 2 })), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(".", " . ", "\t."),
    )
    .map(([parts, dot]) => {
      const names = parts.map(([name], i) => (i === 0 ? `${mark}${name}` : name));
      return { path: names, text: names.map((name, i) => spell(name, parts[i]?.[1] ?? 2)).join(dot) };
    });

const statement = (mark: string) =>
  fc.record({
    key: written(mark),
    filler: fc.constantFrom(...fillers),
    indent: fc.constantFrom("", "  ", "\t"),
    equals: fc.constantFrom("=", " = ", "\t=  "),
    value: fc.constantFrom(...values),
    comment: fc.constantFrom("", " # listen = 2", "\t"),
  });

const table = (mark: string) =>
  fc.record({
    header: written(mark),
    filler: fc.constantFrom(...fillers),
    brackets: fc.constantFrom(["[", "]"], ["[ ", " ]"], ["[[", "]]"]),
    comment: fc.constantFrom("", " # [listen]"),
    body: fc.tuple(statement(`${mark}k`), statement(`${mark}l`)),
  });

const document = fc.record({
  top: fc.tuple(statement("a"), statement("b"), statement("c")),
  tables: fc.tuple(table("t"), table("u")),
  newline: fc.constantFrom("\n", "\r\n"),
});

test("every key of any valid file is found exactly where it stands, and so is its value", () => {
  fc.assert(
    fc.property(document, ({ top, tables, newline }) => {
      const places: Array<{ path: readonly string[]; key: string; offset: number; value?: number }> = [];
      let text = "";
      const write = (
        table: readonly string[],
        { key, filler, indent, equals, value, comment }: (typeof top)[0],
      ) => {
        text += filler + indent;
        const offset = text.length;
        places.push({
          path: [...table, ...key.path],
          key: key.text,
          offset,
          value: offset + key.text.length + equals.length,
        });
        text += `${key.text}${equals}${value}${comment}\n`;
      };
      for (const line of top) write([], line);
      for (const { header, filler, brackets, comment, body } of tables) {
        text += filler;
        places.push({ path: header.path, key: brackets[0] + header.text, offset: text.length });
        text += `${brackets[0]}${header.text}${brackets[1]}${comment}\n`;
        for (const line of body) write(header.path, line);
      }
      parse(text.replaceAll("\n", newline));
      const at = (offset: number) => {
        const before = text.slice(0, offset).split("\n");
        return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
      };
      for (const { path, key, offset, value } of places) {
        const found = locate(text.replaceAll("\n", newline), path);
        expect({ path, ...found }).toEqual({
          path,
          key: at(offset),
          value: value === undefined ? undefined : at(value),
        });
        expect(text.split("\n")[found.key.line - 1]?.slice(found.key.column - 1)).toStartWith(key);
      }
    }),
    { numRuns: 500 },
  );
});

test("a key inside an inline table is found in the table, however deep and on whichever line", () => {
  expect(locate("a = 1\n  b = { c = 1 }\n", ["b", "c"])).toEqual({
    key: { line: 2, column: 9 },
    value: { line: 2, column: 13 },
  });
  const deep = 'a = { x = [ { c = 0 } ], b.c = { "d" = "}", # }\n  e = 5 } }\nf = 6\n';
  expect(locate(deep, ["a", "b", "c", "e"])).toEqual({
    key: { line: 2, column: 3 },
    value: { line: 2, column: 7 },
  });
  expect(locate(deep, ["f"]).key).toEqual({ line: 3, column: 1 });
});

test("a byte order mark is no part of the first line", () => {
  expect(locate("\ufeffkey = 1\n", ["key"])).toEqual({
    key: { line: 1, column: 1 },
    value: { line: 1, column: 7 },
  });
});

test.each([
  ['a = "b"\nc = "d\ne = "f"\n', 12],
  ["a = 'b", 4],
  ['a = """b\nc = 1\n', 4],
  ["a = \"it's\" # it's\nb = '''\n\"\n", 22],
])("in %j the string that is not closed begins at %i", (text, at) => {
  expect(unclosedQuote(text)).toBe(at);
});

test.each(['a = """b"""""\n', "a = 'b\"' # \" '\n", 'a = "\\""\n', ""])(
  "in %j every string is closed",
  (text) => {
    expect(unclosedQuote(text)).toBeUndefined();
  },
);

test("a key that is absent is found at its table's header, or at the start", () => {
  const text = "a = 1\n\n [table]\nb = 1\n";
  expect(locate(text, ["table", "absent"]).key).toEqual({ line: 3, column: 2 });
  expect(locate(text, ["absent"]).key).toEqual({ line: 1, column: 1 });
  expect(locate("", ["absent"]).key).toEqual({ line: 1, column: 1 });
});

test("a key of another table is not mistaken for the one wanted", () => {
  const text = "[other]\nkey = 1\n[table]\nkey = 2\n[table.key2]\nkey = 3\n";
  expect(locate(text, ["table", "key"]).key).toEqual({ line: 4, column: 1 });
  expect(locate(text, ["table", "key2", "key"]).key).toEqual({ line: 6, column: 1 });
});

test.each([
  ["an eight-digit escape", '"\\U0001F600" = 1\nkey = 2\n'],
  ["a tab", '"a\tb" = 1\nkey = 2\n'],
])("a quoted key that holds %s does not stop the search", (_, text) => {
  expect(Object.keys(parse(text))).toContain("key");
  expect(locate(text, ["key"]).key).toEqual({ line: 2, column: 1 });
});

test("a key at the end of a large file is found", () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `key${i} = """\nlast = ${i}"""\n`);
  expect(locate(`${lines.join("")}last = 1\n`, ["last"])).toEqual({
    key: { line: 40_001, column: 1 },
    value: { line: 40_001, column: 8 },
  });
});
