import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Glob } from "bun";
import { Fault } from "../../src/base/fault.ts";
import { readConfigFile } from "../../src/config/default-config.ts";
import { parseConfig } from "../../src/config/parse.ts";
import { formatProblem } from "../../src/config/problem.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { tempFolder } from "../support/node.ts";

const root = join(import.meta.dir, "../..");
const required =
  'ws_listener = "127.0.0.1:2211"\n[database]\ndatabase_url = "sqlite://data/node.db?mode=rwc"\n';

function refusalOf(text: string): Fault {
  try {
    parseConfig(text, "config.toml");
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`was accepted:\n${text}`);
}

test("unknown keys and tables are allowed and named, with their place and what they may have been", () => {
  const text = [
    "colour = 1",
    '"__proto__" = 2',
    required.trimEnd(),
    "sql_timout_ms = 5",
    'log_filter = "x"',
    "[loging]",
    "a = 1",
    "[logging]",
    '  log_filer = "info"',
    'static_path = "x"',
    "[extra.table]",
    "a = 1",
  ].join("\n");
  const { config, warnings } = parseConfig(text, "config.toml");
  expect(warnings.map((warning) => formatProblem(warning)).sort()).toEqual([
    "config.toml:11:3: logging.log_filer: is unknown and has no effect; did you mean log_filter?",
    "config.toml:12:1: logging.static_path: has no effect in [logging]; move it above the first [table]",
    "config.toml:13:1: extra: is unknown and has no effect",
    "config.toml:1:1: colour: is unknown and has no effect",
    "config.toml:2:1: __proto__: is unknown and has no effect",
    "config.toml:6:1: database.sql_timout_ms: is unknown and has no effect; did you mean sql_timeout_ms?",
    "config.toml:7:1: database.log_filter: has no effect in [database]; move it below [logging]",
    "config.toml:8:1: loging: is unknown and has no effect; did you mean logging?",
  ]);
  expect(config).toEqual(parseConfig(required).config);
});

test("of thousands of unknown tables the first fifty are named with their place, and the rest is counted", () => {
  const tables = Array.from({ length: 2000 }, (_, index) => `[unknown${index}]\nb = 1\n`);
  const { warnings } = parseConfig(required + tables.join(""), "config.toml");
  const expected = Array.from(
    { length: 50 },
    (_, index) => `config.toml:${4 + 2 * index}:1: unknown${index}: is unknown and has no effect`,
  );
  expected[49] += "; 1950 more keys are unknown";
  expect(warnings.map((warning) => formatProblem(warning))).toEqual(expected);
});

test("a key with a name of a million letters and a duplicate after many keys are explained like others", () => {
  const long = "k".repeat(1_000_000);
  expect(parseConfig(`${long} = 1\n${required}`).warnings).toMatchObject([
    { field: long, line: 1, column: 1 },
  ]);
  const keys = Array.from({ length: 20_000 }, (_, index) => `k${index} = 1\n`).join("");
  expect(refusalOf(`${required}${keys}k0 = 2\n`).detail).toBe(
    "config.toml:20004:1: database.k0: is set twice, first on line 4; remove one of the two",
  );
});

test("a character that TOML does not allow is named with its place, wherever it is", () => {
  for (const [text, place, code] of [
    [`${required}\0\0`, "4:1", "0000"],
    [`# a comment \0\n${required}`, "1:13", "0000"],
    [`${required}x = "bell\x07"\nx = 1\n`, "4:10", "0007"],
    [`${required}\x7f`, "4:1", "007F"],
    [`${required}x = "\ud800"`, "4:6", "D800"],
  ] as const)
    expect(refusalOf(text).detail).toBe(
      `config.toml:${place}: the character U+${code} here is not allowed in TOML; remove it`,
    );
});

test("brackets that are nested too deeply are refused with their place before anything follows them", () => {
  for (const [open, column] of [
    ["[", 55],
    ["{a = ", 255],
    ["[ # ]\n", undefined],
  ] as const)
    for (const text of [`a = ${open.repeat(20_000)}\n${required}`, `${required}a = ${open.repeat(20_000)}`]) {
      const { detail, data } = refusalOf(text);
      expect(detail).toMatch(/^config\.toml:\d+:\d+: is nested too deeply: .*; remove some of them$/);
      if (column !== undefined) expect(data.column).toBe(column);
    }
  const brackets = "[".repeat(100);
  const harmless = `a = "${brackets}" # ${brackets}\nb = """\n${brackets}"""""\nc = [[[1], [2]], [{ d = [] }]]\n`;
  expect(parseConfig(harmless + required).warnings).toHaveLength(3);
});

test("a line without a key is not taken for a second one of its table", () => {
  expect(refusalOf(`${required}= 1\n`).detail).toStartWith("config.toml:4:1: this is not TOML: ");
});

test("a configuration file that is not UTF-8 is refused with the place of its first such byte", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "config.toml");
  // The character that decoders put in the place of invalid bytes is itself valid.
  const before = Buffer.from(`${required}# \ufffd é 🙂 `);
  for (const invalid of [[0xff], [0xc3, 0x28], [0xe2, 0x82], [0xed, 0xa0, 0x80]]) {
    await writeFile(path, Buffer.concat([before, Buffer.from(invalid), Buffer.from("\n")]));
    const refusal = await readConfigFile(path).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Fault);
    expect(refusal).toMatchObject({
      detail: `${path}:4:10: this is not UTF-8; save the file in the encoding UTF-8`,
      data: { line: 4, column: 10 },
    });
  }
  await writeFile(path, before);
  expect(parseConfig(await readConfigFile(path), path).warnings).toEqual([]);
});

test("a misspelt key is named beside the error that it causes", () => {
  const fault = refusalOf(required.replace("ws_listener", "ws_listner"));
  expect(fault.detail.split("\n")).toEqual([
    'config.toml:1:1: ws_listener: is missing; write ws_listener = "127.0.0.1:2211" above the first [table]',
    "config.toml:1:1: ws_listner: is unknown and has no effect; did you mean ws_listener?",
  ]);
  expect(fault.data.problems).toHaveLength(2);
});

test.each([
  ["inof", "names the target `inof`, under which nothing is logged; did you mean `info`?"],
  ["info,tokn=debug", "names the target `tokn`, under which nothing is logged; did you mean `token`?"],
  ...["hyper", "databse"].map((target) => [
    `info,${target}=warn`,
    `names the target \`${target}\`, under which nothing is logged; use a level such as \`info\`, or one of the targets server, rpc, db, kv, monitoring, task, token, terminal, js_worker, js_result, js_runtime, crontab, crontab_result`,
  ]),
])("the filter %s is valid, and its unknown target is named in a warning", (filter, why) => {
  for (const key of ["log_filter", "json_log_filter", "memory_log_filter"]) {
    const { warnings } = parseConfig(`${required}[logging]\n${key} = "${filter}"\n`);
    const column = key.length + 4;
    expect(warnings).toEqual([{ field: `logging.${key}`, why, line: 5, column, about: "filter" }]);
  }
});

test("every target that the server logs under is known to the check of filters", async () => {
  const used = new Set<string>();
  for await (const file of new Glob("src/**/*.ts").scan(root)) {
    const text = await readFile(join(root, file), "utf8");
    for (const [, target = ""] of text.matchAll(/\blogger\("([^"]+)"\)/g)) used.add(target);
  }
  expect(used.size).toBeGreaterThan(3);
  expect(parseFilter([...used].join(",")).unknownTargets()).toEqual([]);
  expect(parseFilter("db=trace,server::listener,sqlx::query").unknownTargets()).toEqual([]);
});

test.each([
  ["no closing quote", 'a = 1\nb = "text\nc = 2\n', 2, 5, /closing quote/],
  ["no closing quote at the end of the file", "b = 'text", 1, 5, /closing quote/],
  ["no end of a text of several lines", 'a = 1\nb = """text\nc = 2\n', 2, 5, /closing quote/],
  ["an address without quotes", "\n  ws_listener = 127.0.0.1:2211\n", 2, 17, /put a text in quotes/],
  ["a word without quotes", "[logging]\nlog_filter = info\n", 2, 14, /put a text in quotes/],
  ["a size with a unit", "max_upload_size = 10MB\n", 1, 19, /put a text in quotes/],
  ["a value that is forgotten", "a =\nb = 1\n", 1, 4, /: a: has no value; write one, or comment the line/],
  ["a comment for a value", "b = 1\na = # later\n", 2, 5, /: a: has no value; /],
  ["a key given twice", "[t]\nb = 1\nb = 2\n", 3, 1, /: t\.b: is set twice, first on line 2; remove/],
  ["a table given twice", "[t]\nb = 1\n\n[t]\n", 4, 2, /: t: is set twice, first on line 1/],
  ["an apostrophe in a text without quotes", "a = it's\n", 1, 5, /put a text in quotes/],
])("%s is explained where the mistake begins", (_, text, line, column, why) => {
  const fault = refusalOf(text);
  expect(fault.detail).toStartWith(`config.toml:${line}:${column}: `);
  expect(fault.data).toMatchObject({ line, column });
  expect(fault.detail).toMatch(why);
});

test.each([
  ["max_upload_size", '"10MB"', "must be a whole number without quotes, in bytes, such as 1000000000"],
  ["backup_every", '"0h"', "must be longer than zero; remove the key to make no backups"],
])("a value of %s that does not work comes with one that does", (key, value, why) => {
  expect(refusalOf(`${key} = ${value}\n${required}`).detail).toBe(
    `config.toml:1:${key.length + 4}: ${key}: ${why}`,
  );
});
