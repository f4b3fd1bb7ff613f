import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { readOverrides, variableOf } from "../../src/config/environment.ts";
import { checkText, parseConfig } from "../../src/config/parse.ts";
import { retiredKeys } from "../../src/config/retired-keys.ts";
import type { Config } from "../../src/config/schema.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

interface Retired {
  /** The old value, as TOML. */
  readonly toml: string;
  /** What else stands in the file, by table. */
  readonly beside?: Readonly<Record<string, string>>;
  /** What is in force by it, read by `of`. */
  readonly of?: (config: Config) => unknown;
  readonly is?: unknown;
  /** The key of today that says the same, with its value. */
  readonly today?: readonly [key: string, value: number];
}

const blobs = { files: 'url = "file:///srv/blobs"' };
const keptDays = ({ keep_removed_days }: Config) => keep_removed_days;
const timeout = ({ database }: Config) => database.timeout_ms;
const timeoutOf = (is: number) => ({ of: timeout, is, today: ["database.timeout_ms", is] as const });

/** What each retired key does. */
const cases: ReadonlyArray<readonly [key: string, Retired]> = [
  ["reuse_port", { toml: "true", of: ({ reuse_port }) => reuse_port, is: true }],
  ["unix_socket_mode", { toml: '"0666"', of: ({ unix_socket_mode }) => unix_socket_mode, is: "0666" }],
  ["trash_days", { toml: "14", of: keptDays, is: 14, today: ["keep_removed_days", 14] }],
  ["trash_days", { toml: "14", beside: blobs }],
  ["logging.json_log_max_bytes", { toml: "1000" }],
  ["logging.json_log_keep", { toml: "3" }],
  ["logging.access_log_max_bytes", { toml: "1000" }],
  ["logging.access_log_keep", { toml: "3" }],
  ["database.connect_timeout_ms", { toml: "30000", ...timeoutOf(30_000) }],
  // The others had longer defaults, and stay at least as patient.
  ["database.connect_timeout_ms", { toml: "500", today: ["database.timeout_ms", 5000] }],
  ["database.acquire_timeout_ms", { toml: "9000", ...timeoutOf(9000) }],
  ["database.answer_timeout_ms", { toml: "8000", ...timeoutOf(8000) }],
  ["database.answer_timeout_ms", { toml: "1000", ...timeoutOf(3000) }],
  ["database.idle_timeout_ms", { toml: "1000" }],
  ["database.max_lifetime_ms", { toml: "1000" }],
  [
    "files.keep_removed_days",
    { toml: "14", beside: blobs, of: keptDays, is: 14, today: ["keep_removed_days", 14] },
  ],
  ["files.keep_removed_days", { toml: "14" }],
];

/** A file with the retired key, or without it if `key` is undefined. */
function textWith(key: string | undefined, { toml, beside = {} }: Retired): string {
  const [name, table = ""] = key === undefined ? [] : key.split(".").reverse();
  const linesOf = (of: string) =>
    [name !== undefined && table === of ? `${name} = ${toml}` : "", beside[of] ?? ""].join("\n");
  const database = `database_url = "sqlite:/x/node.db"\n${linesOf("database")}`;
  return `ws_listener = "127.0.0.1:1"\n${linesOf("")}\n[logging]\n${linesOf("logging")}\n[database]\n${database}\n[files]\n${linesOf("files")}\n`;
}

/** The configuration of the same file without the retired key. */
const without = (retired: Retired) => parseConfig(textWith(undefined, retired)).config;

/** The reason of the only warning. */
function whyOf({ warnings }: { readonly warnings: ReadonlyArray<{ readonly why: string }> }): string {
  expect(warnings).toHaveLength(1);
  return warnings[0]?.why ?? "";
}

test("every retired key has a story below", () => {
  const tried = new Set(cases.map(([key]) => key));
  expect(retiredKeys.map(({ path }) => path.join("."))).toEqual([...tried]);
});

test.each(cases)("%s is read with one warning at its line, and has its effect: %j", (key, retired) => {
  const text = textWith(key, retired);
  const { config, warnings } = parseConfig(text);
  const name = key.split(".").at(-1) ?? "";
  const line = text.split("\n").findIndex((row) => row.startsWith(name)) + 1;
  expect(warnings).toEqual([{ field: key, line, column: 1, about: "key", why: expect.any(String) }]);
  expect(checkText(text, { file: "c.toml", path: "/c.toml" }, readOverrides({}))).toHaveLength(1);
  if (retired.of === undefined) expect(config).toEqual(without(retired));
  else {
    expect(retired.of(config)).toEqual(retired.is);
    expect(retired.of(without(retired))).not.toEqual(retired.is);
  }
  if (retired.today === undefined) return;
  const [today, value] = retired.today;
  const [short = "", table] = today.split(".").reverse();
  const where = table === undefined ? "above the first [table]" : `below [${table}]`;
  expect(whyOf({ warnings })).toBe(`is now ${short} = ${value} ${where}; write that, and remove this one`);
});

test.each(cases)(
  "the variable of %s is read like the key, with one warning of its own: %j",
  (key, retired) => {
    const from = variableOf({ path: key.split(".") });
    const overrides = readOverrides({ [from]: JSON.parse(retired.toml).toString() });
    const { config, warnings } = parseConfig(textWith(undefined, retired), undefined, overrides);
    expect(warnings).toEqual([{ field: key, from, about: "key", why: expect.any(String) }]);
    expect(config).toEqual(parseConfig(textWith(key, retired)).config);
    if (retired.today === undefined) return;
    const [today, value] = retired.today;
    expect(whyOf({ warnings })).toContain(`${variableOf({ path: today.split(".") })}=${value};`);
  },
);

test.each(
  cases.flatMap(([key, retired]) => (retired.today ? [[key, retired.today[0], retired] as const] : [])),
)("%s does nothing beside %s, and the warning says so", (key, today, retired) => {
  const [name = "", table = ""] = today.split(".").reverse();
  const lines = [`${name} = 21`, retired.beside?.[table] ?? ""].join("\n");
  const both = { ...retired, beside: { ...retired.beside, [table]: lines } };
  const parsed = parseConfig(textWith(key, both));
  expect(parsed.config).toEqual(without(both));
  expect(whyOf(parsed)).toBe(`has no effect, because ${name} = 21 is set; remove it`);
});

test("of the three timeouts the longest counts, and each gets its warning", () => {
  const others = "answer_timeout_ms = 4000\nacquire_timeout_ms = 2000";
  const { config, warnings } = parseConfig(
    textWith("database.connect_timeout_ms", { toml: "1000", beside: { database: others } }),
  );
  expect(config.database.timeout_ms).toBe(4000);
  expect(warnings.map(({ field }) => field).sort()).toEqual(
    ["acquire", "answer", "connect"].map((name) => `database.${name}_timeout_ms`),
  );
});

test.each([
  ["trash_days", '"soon"', "must be a whole number without quotes"],
  ["trash_days", "3651", "must be 3650 or less"],
  ["database.connect_timeout_ms", "0", "must be 1 or more"],
  ["database.answer_timeout_ms", "true", "must be a whole number without quotes"],
  ["reuse_port", "1", "must be true or false, without quotes"],
  ["unix_socket_mode", "660", 'must be an octal mode in quotes, such as "0660"'],
  ["unix_socket_mode", '"0690"', 'must be an octal mode in quotes, such as "0660"'],
])("a retired key %s = %s is refused at its line", (key, toml, why) => {
  const text = textWith(key, { toml });
  const name = key.split(".").at(-1) ?? "";
  const line = text.split("\n").findIndex((row) => row.startsWith(name)) + 1;
  const column = name.length + 4;
  expect(() => parseConfig(text, "c.toml")).toThrow(`c.toml:${line}:${column}: ${key}: ${why}`);
});

test("a server with retired keys starts, takes an edit that has them, and warns once each time", async () => {
  await using node = await testNode({
    top: "trash_days = 14\n",
    logging: 'memory_log_filter = "info"\njson_log_keep = 3\n',
  });
  const warned = () =>
    node.node.ring
      .entries()
      .filter(({ fields }: LogEntry) => fields.event === "config.warning")
      .map(({ level, fields: { key } }) => [level, key]);
  const keys = ["trash_days", "logging.json_log_keep"];
  const each = keys.map((key) => ["WARN", key]);
  expect(warned()).toEqual(each);
  const token = node.superToken;
  const written = await readFile(node.configPath, "utf8");
  const config_string = `${written}\n# edited\n`;
  const { warnings } = (await node.call("node-server_check_config", { token, config_string })) as {
    warnings: Array<{ field: string }>;
  };
  expect(warnings.map(({ field }) => field)).toEqual(keys);
  expect(await node.call("node-server_edit_config", { token, config_string })).toBe(true);
  expect(await readFile(node.configPath, "utf8")).toBe(config_string);
  await until("the edit is in force", () => warned().length >= 2 * keys.length);
  await writeFile(node.configPath, config_string.replace("trash_days", "keep_removed_days"));
  expect(await node.node.reload()).toBe("unchanged");
  expect(warned()).toEqual([...each, ...each, ["WARN", "logging.json_log_keep"]]);
});
