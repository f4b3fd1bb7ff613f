import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { readOverrides, variableOf } from "../../src/config/environment.ts";
import { checkText, parseConfig } from "../../src/config/parse.ts";
import { retiredKeys } from "../../src/config/retired-keys.ts";
import type { Config } from "../../src/config/schema.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { testNode } from "../support/node.ts";

interface Retired {
  /** The old value, as TOML. */
  readonly toml: string;
  /** What else stands in the file, by table. */
  readonly beside?: Readonly<Record<string, string>>;
  /** What is in force by it, read by `of`. */
  readonly of?: (config: Config) => unknown;
  readonly is?: unknown;
}

/** What each retired key does. */
const cases: ReadonlyArray<readonly [key: string, Retired]> = [
  ["logging.json_log_max_bytes", { toml: "1000" }],
  ["logging.json_log_keep", { toml: "3" }],
  ["logging.access_log_max_bytes", { toml: "1000" }],
  ["logging.access_log_keep", { toml: "3" }],
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
});

test.each(cases)(
  "the variable of %s is read like the key, with one warning of its own: %j",
  (key, retired) => {
    const from = variableOf({ path: key.split(".") });
    const overrides = readOverrides({ [from]: JSON.parse(retired.toml).toString() });
    const { config, warnings } = parseConfig(textWith(undefined, retired), undefined, overrides);
    expect(warnings).toEqual([{ field: key, from, about: "key", why: expect.any(String) }]);
    expect(config).toEqual(parseConfig(textWith(key, retired)).config);
  },
);

test("a server with retired keys starts, takes an edit that has them, and warns once each time", async () => {
  await using node = await testNode({ logging: 'memory_log_filter = "info"\njson_log_keep = 3\n' });
  const warned = () =>
    node.node.ring
      .entries()
      .filter(({ fields }: LogEntry) => fields.event === "config.warning")
      .map(({ level, fields: { key } }) => [level, key]);
  expect(warned()).toEqual([["WARN", "logging.json_log_keep"]]);
  const token = node.superToken;
  const config_string = `${await readFile(node.configPath, "utf8")}\n# edited\n`;
  const { warnings } = (await node.call("node-server_check_config", { token, config_string })) as {
    warnings: Array<{ field: string }>;
  };
  expect(warnings.map(({ field }) => field)).toEqual(["logging.json_log_keep"]);
  expect(await node.call("node-server_edit_config", { token, config_string })).toBe(true);
  expect(await readFile(node.configPath, "utf8")).toBe(config_string);
  expect(await node.node.reload()).toBe("unchanged");
  expect(warned().length).toBeGreaterThanOrEqual(2);
});
