import { expect, test } from "bun:test";
import fc from "fast-check";
import { Fault } from "../../src/base/fault.ts";
import { detail, type Level, levels } from "../../src/log/entry.ts";
import { parseFilter, shownTarget } from "../../src/log/filter.ts";

/** The levels of a target that pass. */
function passing(filter: string, target: string): Level[] {
  const parsed = parseFilter(filter);
  return levels.filter((level) => detail[level] <= parsed.detailFor(target));
}

const upTo = (level: Level) => levels.slice(0, levels.indexOf(level) + 1);

test.each(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"] as const)(
  "a bare %s lets that level and above through, on every target",
  (level) => {
    for (const word of [level, level.toLowerCase(), `${level[0]}${level.slice(1).toLowerCase()}`])
      for (const target of ["server", "rpc", "sqlx", "anything"])
        expect(passing(word, target)).toEqual(upTo(level));
  },
);

test("the numbers 0 to 5 stand for off to trace", () => {
  expect(["0", "1", "2", "3", "4", "5"].map((word) => passing(`token=${word}`, "token").length)).toEqual([
    0, 1, 2, 3, 4, 5,
  ]);
  expect(() => parseFilter("token=6")).toThrow("`6` is not a level");
});

test("off lets nothing through", () => {
  expect(passing("off", "server")).toEqual([]);
  expect(passing("OFF", "server")).toEqual([]);
  expect(passing("info,token=off", "token")).toEqual([]);
  expect(passing("info,token=off", "server")).toEqual(upTo("INFO"));
});

test("target=level rules that target alone", () => {
  expect(passing("token=debug", "token")).toEqual(upTo("DEBUG"));
  expect(passing("token=debug", "server")).toEqual([]);
  expect(passing("warn,token=debug", "server")).toEqual(upTo("WARN"));
  expect(passing("token=debug,warn", "token")).toEqual(upTo("DEBUG"));
});

test("a bare target lets all its levels through", () => {
  expect(passing("token", "token")).toEqual([...levels]);
  expect(passing("token", "rpc")).toEqual([]);
  expect(passing("error,token", "rpc")).toEqual(["ERROR"]);
});

test("case and spaces around items do not matter, empty items are passed over", () => {
  expect(passing("  Info ,  TOKEN = Debug , ,db=Trace,", "token")).toEqual(upTo("DEBUG"));
  expect(passing("  Info ,  TOKEN = Debug , ,db=Trace,", "rpc")).toEqual(upTo("INFO"));
  expect(passing("  Info ,  TOKEN = Debug , ,db=Trace,", "sqlx")).toEqual([...levels]);
});

test("db stands for the three database libraries and nothing else", () => {
  for (const target of ["sea_orm", "sea_orm_migration", "sqlx", "sqlx::query"]) {
    expect(passing("debug,db=trace", target)).toEqual([...levels]);
    expect(passing("db", target)).toEqual([...levels]);
    expect(passing("trace,db=off", target)).toEqual([]);
  }
  expect(passing("debug,db=trace", "server")).toEqual(upTo("DEBUG"));
  expect(passing("db=trace", "db_other")).toEqual([]);
});

test("the most specific target wins, whatever the order", () => {
  for (const filter of ["sqlx=warn,sqlx::query=trace,info", "info,sqlx::query=trace,sqlx=warn"]) {
    expect(passing(filter, "sqlx")).toEqual(upTo("WARN"));
    expect(passing(filter, "sqlx::query")).toEqual([...levels]);
    expect(passing(filter, "sqlx::query::slow")).toEqual([...levels]);
    expect(passing(filter, "sqlx::pool")).toEqual(upTo("WARN"));
    expect(passing(filter, "other")).toEqual(upTo("INFO"));
  }
});

test("one library can be told apart from db", () => {
  expect(passing("db=warn,sqlx=trace", "sqlx")).toEqual([...levels]);
  expect(passing("db=warn,sqlx=trace", "sea_orm")).toEqual(upTo("WARN"));
});

test("a target is a whole name: token does not rule token_other", () => {
  expect(passing("token=trace", "token_other")).toEqual([]);
  expect(passing("sea_orm=trace", "sea_orm_migration")).toEqual([]);
});

test("the same target or level given twice: the last one counts", () => {
  expect(passing("token=trace,token=warn", "token")).toEqual(upTo("WARN"));
  expect(passing("trace,error", "token")).toEqual(["ERROR"]);
});

test.each(["", " ", ",", " , ,"])("the empty filter %j is an error, not silence", (text) => {
  expect(() => parseFilter(text)).toThrow("it is empty");
});

test.each([
  "token=loud",
  "token=",
  "=info",
  "=",
  "token=info=debug",
  "to ken",
  "token info",
  "[span]=info",
  "a\nb",
  "*",
  "ünï=info",
])("the filter %j is an error that names the field", (text) => {
  try {
    parseFilter(text);
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    expect(error).toMatchObject({
      kind: "InvalidInput",
      code: 108,
      data: { field: "log_filter", column: 1 },
    });
    return;
  }
  throw new Error(`${text} was accepted`);
});

test("one bad item spoils the whole filter", () => {
  expect(() => parseFilter("info,token=loud,db=trace")).toThrow("`loud` is not a level");
});

test.each([
  ["info,token=loud,db=trace", 6],
  ["info, \t token = loud", 9],
  [",,=", 3],
  ["info,\u{1f600}", 6],
  ["\u{1f600}x,info", 1],
  ["", 1],
  [" , ", 1],
  ["a,".repeat(3000), 4097],
])("the refusal of %j tells the column of the item at fault", (text, column) => {
  try {
    parseFilter(text);
  } catch (error) {
    expect(error).toMatchObject({ data: { column } });
    return;
  }
  throw new Error(`${text} was accepted`);
});

test("an entry that is written already passes as its event would have", () => {
  const passes = (filter: string, target: string, level: Level) =>
    parseFilter(filter).passes({ target, level });
  for (const filter of ["info", "off,token=debug", "trace,token=off", "token,error"])
    for (const target of ["token", "token::roll", "server"])
      for (const level of levels)
        expect(passes(filter, target, level)).toBe(passing(filter, target).includes(level));
});

test("an entry shown as db passes where one of the database libraries may speak", () => {
  const passing = (filter: string) =>
    levels.filter((level) => parseFilter(filter).passes({ target: "db", level }));
  expect(passing("debug,db=trace")).toEqual([...levels]);
  expect(passing("db=warn")).toEqual(upTo("WARN"));
  expect(passing("info,db=off")).toEqual([]);
  expect(passing("off,sqlx=info")).toEqual(upTo("INFO"));
  expect(passing("info")).toEqual(upTo("INFO"));
});

test("any text is either read or refused as InvalidInput, in a message of bounded length", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary", maxLength: 2000 })), (text) => {
      try {
        expect(parseFilter(text).text).toBe(text);
      } catch (error) {
        expect(error).toMatchObject({ kind: "InvalidInput" });
        expect(error instanceof Fault && error.message.length).toBeLessThan(1000);
      }
    }),
    { numRuns: 500 },
  );
});

test("readers see db instead of a database library's own target", () => {
  expect(["sea_orm", "sea_orm_migration", "sqlx", "sqlx::query"].map(shownTarget)).toEqual([
    "db",
    "db",
    "db",
    "db",
  ]);
  expect(["server", "token", "sqlx_other", "rpc::sqlx"].map(shownTarget)).toEqual([
    "server",
    "token",
    "sqlx_other",
    "rpc::sqlx",
  ]);
});
