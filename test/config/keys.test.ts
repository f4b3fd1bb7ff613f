import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../src/base/fault.ts";
import { parseConfig } from "../../src/config/parse.ts";
import type { Config } from "../../src/config/schema.ts";

interface Case {
  /** TOML values that are read, each with what it is read as. */
  readonly good: ReadonlyArray<readonly [toml: string, value: unknown]>;
  /** TOML values that are refused, each with a word of the reason. */
  readonly bad: ReadonlyArray<readonly [toml: string, why: RegExp]>;
}

const notText: Case["bad"] = [
  ["5", /expected string, received number/],
  ["true", /expected string, received boolean/],
  ['["a"]', /expected string, received array/],
];
const notNumber: Case["bad"] = [
  ['"5"', /expected number, received string/],
  ["1.5", /expected int/],
  ["-1", /expected number to be >/],
  ["nan", /./],
  ["inf", /./],
  ["1979-05-27", /expected number/],
];
const notBoolean: Case["bad"] = [
  ['"true"', /expected boolean, received string/],
  ["1", /expected boolean, received number/],
];
const path: Case = {
  good: [['"some/path"', "some/path"]],
  bad: [...notText, ['""', /expected string to have >=1/]],
};
const filter: Case = {
  good: [['"info,db=trace"', expect.objectContaining({ text: "info,db=trace" })]],
  bad: [...notText, ['""', /is empty/], ['"loud=very"', /`very` is no level/], ['"a b"', /neither a level/]],
};
const ms = (least: number): Case => ({
  good: [
    [String(least), least],
    ["2147483647", 2_147_483_647],
  ],
  bad: [
    ...notNumber,
    ["2147483648", /expected number to be <=/],
    ...(least === 1 ? [["0", />/] as const] : []),
  ],
});
const bytes = (least: number, most: number): Case => ({
  good: [
    [String(least), least],
    [String(most), most],
  ],
  bad: [...notNumber, ...(least === 1 ? [["0", />/] as const] : [])],
});
const GiB = 1024 ** 3;

const cases: Readonly<Record<string, Case>> = {
  ws_listener: {
    good: [
      ['"127.0.0.1:2211"', { host: "127.0.0.1", port: 2211 }],
      ['"localhost:0"', { host: "localhost", port: 0 }],
      ['"[::1]:80"', { host: "::1", port: 80 }],
    ],
    bad: [...notText, ['"127.0.0.1"', /ip:port/], ['"127.0.0.1:65536"', /ip:port/], ['""', /ip:port/]],
  },
  server_uuid: {
    good: [
      ['"auto_gen"', "auto_gen"],
      ['"7C9E6679-7425-40DE-944B-E07FC1F90AE7"', "7C9E6679-7425-40DE-944B-E07FC1F90AE7"],
    ],
    bad: [
      ["5", /UUID/],
      ['"automatic"', /UUID/],
      ['""', /UUID/],
      ['"7c9e6679-7425-40de-944b-e07fc1f90ae"', /UUID/],
    ],
  },
  jsonrpc_max_connections: bytes(1, 1_000_000),
  max_request_body_size: bytes(1, GiB),
  max_response_body_size: bytes(1, GiB),
  max_upload_size: bytes(0, 100 * GiB),
  enable_unix_socket: { good: [["true", true]], bad: notBoolean },
  unix_socket_path: path,
  tls_cert: path,
  tls_key: path,
  static_path: path,
  sync_uploads: { good: [["false", false]], bad: notBoolean },
  static_cache_bytes: bytes(0, 100 * GiB),
  console: { good: [["false", false]], bad: notBoolean },
  release_url: {
    good: [['"https://example.org/releases"', "https://example.org/releases"]],
    bad: [...notText, ['"example.org"', /URL/], ['"ftp://example.org"', /URL/], ['""', /URL/]],
  },
  release_public_key: path,
  "logging.log_filter": filter,
  "logging.json_log_file": path,
  "logging.json_log_filter": filter,
  "logging.memory_log_capacity": bytes(0, 100_000),
  "logging.memory_log_filter": filter,
  "database.database_url": {
    good: [
      ['"sqlite://data/x.db?mode=rwc"', "sqlite://data/x.db?mode=rwc"],
      ['"postgres://u:p@h:5432/n"', "postgres://u:p@h:5432/n"],
      ['"postgresql://h/n"', "postgresql://h/n"],
    ],
    bad: [
      ...notText,
      ['"mysql://h/n"', /must begin with/],
      ['"sqlite:"', /must name a file/],
      ['""', /begin/],
    ],
  },
  "database.connect_timeout_ms": ms(1),
  "database.acquire_timeout_ms": ms(1),
  "database.idle_timeout_ms": ms(0),
  "database.max_lifetime_ms": ms(0),
  "database.max_connections": {
    good: [
      ["1", 1],
      ["10000", 10_000],
    ],
    bad: [...notNumber, ["0", />/], ["10001", /<=/]],
  },
  "database.sql_timeout_ms": ms(0),
};

test("every key of the documentation is tried below, and no other", async () => {
  const documented: string[] = [];
  let table = "";
  for (const line of (await readFile(join(import.meta.dir, "../../docs/config.md"), "utf8")).split("\n")) {
    const heading = /^## (?:`\[(\w+)\]`|Top level)$/.exec(line);
    if (heading !== null) table = heading[1] === undefined ? "" : `${heading[1]}.`;
    const name = /^\| `(\w+)` \|/.exec(line)?.[1];
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
      expect({ toml, line: fault.data.line, column: fault.data.column }).toEqual({ toml, line, column: 3 });
      expect(fault.message).toContain(`${key} `);
      expect(fault.message).toContain(`(line ${line}, column 3)`);
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
    column: 3,
  });
});

test.each([
  ["tls_cert", "tls_key"],
  ["tls_key", "tls_cert"],
])("%s without %s is refused where it stands", (given, missing) => {
  const fault = refusalOf(minimal.replace("[database]", `${given} = "x.pem"\n[database]`));
  expect(fault.detail).toBe(`configuration: ${given} needs ${missing} beside it (line 2, column 1)`);
  expect(fault.data).toEqual({ field: given, line: 2, column: 1 });
});

test.each([
  ["ws_listener", '[database]\ndatabase_url = "sqlite:x"\n', 1],
  ["database", 'ws_listener = "127.0.0.1:1"\n', 1],
  ["database.database_url", 'ws_listener = "127.0.0.1:1"\n\n[database]\n', 3],
])("a missing %s is named", (field, text, line) => {
  const fault = refusalOf(text);
  expect(fault.message).toContain(`${field} is missing (line ${line}, column 1)`);
  expect(fault.data).toEqual({ field, line, column: 1 });
});

test("every complaint about a file is told at once", () => {
  const fault = refusalOf('ws_listener = 5\nmax_upload_size = "x"\n[database]\ndatabase_url = true\n');
  for (const place of [
    "ws_listener",
    "line 1",
    "max_upload_size",
    "line 2",
    "database.database_url",
    "line 4",
  ])
    expect(fault.message).toContain(place);
});

const minimal = 'ws_listener = "127.0.0.1:1"\n[database]\ndatabase_url = "sqlite:x"\n';

/** A minimal file in which `key`, indented by two, has the value `toml`. */
function fileWith(key: string, toml: string): string {
  const [name = "", table] = key.split(".").reverse();
  const line = `  ${name} = ${toml} # here`;
  const other = { tls_cert: "tls_key", tls_key: "tls_cert" }[name];
  return [
    ...(table === undefined ? [line] : []),
    ...(name === "ws_listener" ? [] : ['ws_listener = "127.0.0.1:1"']),
    ...(other === undefined ? [] : [`${other} = "x.pem"`]),
    ...(table === "logging" ? ["[logging]", line] : []),
    "",
    "[database]",
    ...(name === "database_url" ? [] : ['database_url = "sqlite:x"']),
    ...(table === "database" ? [line] : []),
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
    parseConfig(text);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`was accepted:\n${text}`);
}
