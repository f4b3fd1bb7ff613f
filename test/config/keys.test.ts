import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../src/base/fault.ts";
import { parseConfig } from "../../src/config/parse.ts";
import type { Problem } from "../../src/config/problem.ts";
import type { Config } from "../../src/config/schema.ts";
import { cases } from "./key-cases.ts";

test("every key of the documentation is tried below, and no other", async () => {
  const documented: string[] = [];
  let table = "";
  for (const line of (await readFile(join(import.meta.dir, "../../docs/config.md"), "utf8")).split("\n")) {
    // The keys of webhooks have a story of their own below.
    if (line === "## `[[hooks]]`") break;
    const heading = /^## (?:`\[(\w+)\]`|Top level)$/.exec(line);
    if (heading !== null) table = heading[1] === undefined ? "" : `${heading[1]}.`;
    const name = /^\| `([a-z_]+)` \|/.exec(line)?.[1];
    if (name !== undefined) documented.push(table + name);
  }
  expect(documented).toEqual(Object.keys(cases));
});

for (const [key, { good, bad }] of Object.entries(cases)) {
  test(`${key} takes its values and refuses others with key, line and column`, () => {
    for (const [toml, value] of good) expect(read(fileWith(key, toml), key)).toEqual(value);
    for (const [toml, why] of bad) {
      const text = fileWith(key, toml);
      const fault = refusalOf(text);
      expect({ toml, kind: fault.kind, field: fault.data.field }).toEqual({
        toml,
        kind: "ParseError",
        field: key,
      });
      expect(fault.message).toMatch(why);
      const line = text.split("\n").findIndex((row) => row.includes("# here")) + 1;
      const column = (text.split("\n")[line - 1]?.indexOf("= ") ?? 0) + 3;
      expect({ toml, line: fault.data.line, column: fault.data.column }).toEqual({ toml, line, column });
      expect(fault.detail).toStartWith(`config.toml:${line}:${column}: ${key}: `);
      const reason = (fault.data.problems as Problem[])[0]?.why ?? "";
      expect(fault.data.problems).toEqual([{ file: "config.toml", line, column, field: key, why: reason }]);
      expect(fault.detail).toEndWith(`: ${reason}`);
    }
  });
}

test.each([
  "sqlite::memory:",
  "sqlite://:memory:",
  "sqlite://node.db?mode=ro",
  "sqlite://node.db?mode=memory",
  "sqlite://100%.db",
])("the impossible database %s is refused with key, line and column", (url) => {
  expect(refusalOf(fileWith("database.database_url", JSON.stringify(url))).data).toMatchObject({
    field: "database.database_url",
    line: 4,
    column: 18,
  });
});

test.each([
  ["tls_cert", "tls_key"],
  ["tls_key", "tls_cert"],
])("%s without %s is refused where it stands", (given, missing) => {
  const fault = refusalOf(minimal.replace("[database]", `${given} = "x.pem"\n[database]`));
  const column = given.length + 4;
  expect(fault.detail).toStartWith(
    `config.toml:2:${column}: ${given}: needs ${missing}, too; write ${missing} =`,
  );
  expect(fault.data).toMatchObject({ field: given, line: 2, column });
});

test("faults of webhooks name the one that they are in, and what is missing", () => {
  const hook = (url: string) =>
    `\n[[hooks]]\nurl = "${url}"\nsecret = "the-output-of-openssl-rand-base64-32"\n`;
  const [first, second] = [hook("https://one.example.com/"), hook("http://10.0.0.1/x")];
  const lines = minimal.split("\n").length;
  const { config } = parseConfig(minimal + first + second, "config.toml");
  expect(config.hooks.map(({ url, events }) => ({ url, events }))).toEqual([
    { url: "https://one.example.com/", events: ["*"] },
    { url: "http://10.0.0.1/x", events: ["*"] },
  ]);
  for (const [wrong, field, at] of [
    [`${second}events = ["files"]`, "hooks.1.events.0", 8],
    [second.replace("http:", "ftp:"), "hooks.1.url", 6],
    [second.replace("-base64-32", ""), "hooks.1.secret", 7],
    [first, "hooks.1.url", 6],
    ["\n[[hooks]]\n", "hooks.1.url", 5],
  ] as const) {
    const { data } = refusalOf(minimal + first + wrong);
    expect({ field: data.field, line: data.line }).toEqual({ field, line: lines + at });
  }
  const { warnings } = parseConfig(`${minimal}${first}event = ["*"]\n`, "config.toml");
  expect(warnings).toMatchObject([{ field: "hooks.0.event", why: expect.stringContaining("events") }]);
});

test("a key that needs another one is refused where it stands", () => {
  const redirects = minimal.replace("[database]", 'http_listener = "0.0.0.0:80"\n[database]');
  expect(refusalOf(redirects).detail).toStartWith(
    "config.toml:2:17: http_listener: needs tls_cert and tls_key",
  );
  const hsts = refusalOf(`${minimal}[tls]\nhsts_days = 365\n`);
  expect(hsts.detail).toStartWith("config.toml:5:13: tls.hsts_days: needs server_name");
  const s3 = refusalOf(`${minimal}[tls]\nserver_name = "a.example"\n[s3]\nhost = "A.example"\n`);
  expect(s3.detail).toStartWith("config.toml:7:8: s3.host: is server_name, too");
});

test.each([
  [
    "ws_listener",
    '[database]\ndatabase_url = "sqlite:x"\n',
    1,
    'write ws_listener = "127.0.0.1:2211" above the first [table]',
  ],
  [
    "database",
    'ws_listener = "127.0.0.1:1"\n',
    1,
    "write [database] on a line of its own, and below it database_url =",
  ],
  [
    "database.database_url",
    'ws_listener = "127.0.0.1:1"\n\n[database]\n',
    3,
    'write database_url = "sqlite://data/node.db?mode=rwc" below [database]',
  ],
])("a missing %s is named, with the line to write", (field, text, line, hint) => {
  const fault = refusalOf(text);
  expect(fault.detail).toStartWith(`config.toml:${line}:1: ${field}: is missing; ${hint}`);
  expect(fault.data).toMatchObject({ field, line, column: 1 });
});

test("every complaint about a file is told at once", () => {
  const fault = refusalOf('ws_listener = 5\nmax_upload_size = "x"\n[database]\ndatabase_url = true\n');
  expect(fault.detail.split("\n")).toEqual([
    expect.stringMatching(/^config\.toml:1:15: ws_listener: must be a text in quotes/),
    expect.stringMatching(/^config\.toml:2:19: max_upload_size: must be a whole number/),
    expect.stringMatching(/^config\.toml:4:16: database\.database_url: must be a text in quotes/),
  ]);
  expect((fault.data.problems as Problem[]).map(({ line, field }) => `${line} ${field}`)).toEqual([
    "1 ws_listener",
    "2 max_upload_size",
    "4 database.database_url",
  ]);
});

const minimal = 'ws_listener = "127.0.0.1:1"\n[database]\ndatabase_url = "sqlite:x"\n';

/** A minimal file in which `key`, indented by two, has the value `toml`. */
function fileWith(key: string, toml: string): string {
  const [name = "", table] = key.split(".").reverse();
  const line = `  ${name} = ${toml} # here`;
  const others = { tls_cert: ["tls_key"], tls_key: ["tls_cert"], http_listener: ["tls_cert", "tls_key"] }[
    name
  ];
  return [
    ...(table === undefined ? [line] : []),
    ...(name === "ws_listener" ? [] : ['ws_listener = "127.0.0.1:1"']),
    ...(others ?? []).map((other) => `${other} = "x.pem"`),
    ...(table === "logging" || table === "tls" ? [`[${table}]`, line] : []),
    ...(name === "hsts_days" ? ['server_name = "node.example.com"'] : []),
    ...(name === "eab_kid" ? ['eab_hmac_key = "a2V5"'] : []),
    ...(name === "eab_hmac_key" ? ['eab_kid = "kid-1"'] : []),
    "",
    "[database]",
    ...(name === "database_url" ? [] : ['database_url = "sqlite:x"']),
    ...(table === "database" ? [line] : []),
    ...(table === "files" || table === "s3" ? [`[${table}]`, line] : []),
    "",
  ].join("\n");
}

function read(text: string, key: string): unknown {
  const { config } = parseConfig(text);
  return key
    .split(".")
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], config as Config);
}

function refusalOf(text: string): Fault {
  try {
    parseConfig(text, "config.toml");
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`was accepted:\n${text}`);
}
