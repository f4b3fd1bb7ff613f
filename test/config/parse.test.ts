import { expect, test } from "bun:test";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../src/base/fault.ts";
import { defaultConfigText, ensureConfigFile, readConfigFile } from "../../src/config/default-config.ts";
import { parseConfig } from "../../src/config/parse.ts";
import { tempFolder } from "../support/node.ts";

const MiB = 1024 * 1024;
const required =
  'ws_listener = "127.0.0.1:2211"\n[database]\ndatabase_url = "sqlite://data/node.db?mode=rwc"\n';

function refusalOf(text: string): Fault {
  try {
    parseConfig(text);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`was accepted:\n${text}`);
}

test("a file with the two required keys gets every default", () => {
  expect(parseConfig(required, "/srv/node/config.toml")).toEqual({
    warnings: [],
    overrides: [],
    relative: [
      expect.objectContaining({ key: ["static_path"], given: "./static/", resolved: "/srv/node/static" }),
      expect.objectContaining({ key: ["database", "database_url"], given: "data/node.db" }),
    ],
    config: {
      ws_listener: { host: "127.0.0.1", port: 2211 },
      reuse_port: false,
      server_uuid: "auto_gen",
      trusted_proxies: [],
      proxy_header: "x-forwarded-for",
      jsonrpc_max_connections: 100,
      max_request_body_size: 10 * MiB,
      max_response_body_size: 100 * MiB,
      client_memory_bytes: 0,
      max_upload_size: 0,
      enable_unix_socket: false,
      static_path: "/srv/node/static",
      unix_socket_path: "/srv/node/data/node.sock",
      sync_uploads: true,
      keep_removed_days: 0,
      static_cache_bytes: 64 * MiB,
      keep_deploys: 10,
      drain_seconds: 0,
      backup_keep: 7,
      backup_files: false,
      backup_before_migration: true,
      console: true,
      hooks: [],
      tls: { auto: false, directory: "https://acme-v02.api.letsencrypt.org/directory" },
      logging: {
        memory_log_capacity: 500,
        log_format: "text",
        access_log_format: "combined",
        keep_audit_days: 90,
      },
      database: {
        database_url: "sqlite:///srv/node/data/node.db?mode=rwc",
        timeout_ms: 5000,
        stale_seconds: 60,
        max_connections: 10,
        sql_timeout_ms: 60_000,
      },
      files: {
        path_style: true,
        cache_bytes: 1024 * MiB,
        request_timeout_ms: 10_000,
      },
      s3: { anonymous: false },
    },
  });
});

test("the file that a first start writes says the same as the defaults", () => {
  const { config, warnings } = parseConfig(defaultConfigText());
  const { log_filter, ...logging } = config.logging;
  expect({ ...config, logging, keep_removed_days: 0 }).toEqual(parseConfig(required).config);
  expect([log_filter?.text, config.keep_removed_days]).toEqual(["info", 30]);
  expect(warnings).toEqual([]);
});

test("without keep_removed_days plain files are not kept, and those of an object store for 7 days", () => {
  expect(parseConfig(required).config.keep_removed_days).toBe(0);
  expect(parseConfig(`${required}\n[files]\nurl = "file:///blobs"\n`).config.keep_removed_days).toBe(7);
});

test("the default file's commented lines hold the defaults: uncommented, they change nothing", () => {
  const live = defaultConfigText().replace(/^# (\w+ = .+)$/gm, "$1");
  expect(live).not.toMatch(/^# \w+ = \S/m);
  expect(parseConfig(live)).toEqual(parseConfig(defaultConfigText()));
});

test("a first start writes the default once, readable by its owner alone, and never over a file", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "new", "config.toml");
  expect(await ensureConfigFile(path)).toBe(true);
  expect(await readConfigFile(path)).toBe(defaultConfigText());
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await writeFile(path, required);
  expect(await ensureConfigFile(path)).toBe(false);
  expect(await readConfigFile(path)).toBe(required);
});

test("a file that is missing is told from one that cannot be read", async () => {
  await using folder = await tempFolder();
  const missing = join(folder.path, "config.toml");
  await expect(readConfigFile(missing)).rejects.toMatchObject({
    kind: "ConfigNotFound",
    code: 107,
    data: { path: missing },
  });
  await expect(readConfigFile(folder.path)).rejects.toMatchObject({ kind: "IoError", code: 101 });
});

test("text that is no TOML is refused with line and column", () => {
  const fault = refusalOf(`${required}max_connections = = 5\n`);
  expect(fault).toMatchObject({ kind: "ParseError", code: 101, data: { line: 4, column: 19 } });
  expect(fault.message).toMatch(/^ParseError: configuration:4:19: this is not TOML: .+$/);
});

test.each([
  ["an open string", 'ws_listener = "127'],
  ["a key given twice", "max_upload_size = 1\nmax_upload_size = 2\n"],
  ["a table given twice", "[logging]\n[logging]\n"],
  ["an integer beyond what a number holds", "max_upload_size = 9007199254740993\n"],
  ["a NUL", "\0"],
])("%s is refused as TOML", (_, text) => {
  const { kind, data } = refusalOf(text);
  expect({ kind, line: typeof data.line, column: typeof data.column }).toEqual({
    kind: "ParseError",
    line: "number",
    column: "number",
  });
});

test.each([
  ["a quoted key", '"max_upload_size" = "x"\n', "max_upload_size", 1, 21],
  ["a literal key", "'max_upload_size' = \"x\"\n", "max_upload_size", 1, 21],
  ["a dotted key", '\nlogging.memory_log_capacity = "x"\n', "logging.memory_log_capacity", 2, 31],
  ["a dotted, quoted, spaced key", "\n\n\"logging\" . 'log_filter' = 5\n", "logging.log_filter", 3, 28],
  [
    "a key after a multi-line string",
    'static_path = """\nmax_upload_size = 1\n"""\nmax_upload_size = "x"\n',
    "max_upload_size",
    4,
    19,
  ],
  [
    "an inline table",
    '\nlogging = { log_filter = "info", memory_log_capacity = -1 }\n',
    "logging.memory_log_capacity",
    2,
    56,
  ],
  ["a table that is a number", "\nlogging = 5\n", "logging", 2, 11],
])("%s with a wrong value is found, at the value", (_, lines, field, line, column) => {
  const fault = refusalOf(`${lines}${required}`);
  expect(fault.data).toMatchObject({ field, line, column });
});

test("a file with Windows line ends is read and located like any other", () => {
  expect(parseConfig(required.replaceAll("\n", "\r\n"))).toEqual(parseConfig(required));
  const wrong = `# first\r\nstatic_path = """\r\ntwo\r\n"""\r\n  max_upload_size = "x"\r\n${required.replaceAll("\n", "\r\n")}`;
  expect(refusalOf(wrong).data).toMatchObject({ field: "max_upload_size", line: 5, column: 21 });
});

test("quoted, dotted and inline keys mean the same as plain ones", () => {
  const fancy = `"ws_listener" = '127.0.0.1:2211'\ndatabase = { "database_url" = "sqlite://data/node.db?mode=rwc" }\n`;
  expect(parseConfig(fancy)).toEqual(parseConfig(required));
  const dotted = `ws_listener = "127.0.0.1:2211"\ndatabase . 'database_url' = "sqlite://data/node.db?mode=rwc"\n`;
  expect(parseConfig(dotted)).toEqual(parseConfig(required));
});

test("a wrong value is refused without repeating it: it may hold a password", () => {
  const fault = refusalOf(
    'ws_listener = "127.0.0.1:1"\n[database]\ndatabase_url = "mysql://root:hunter2@db/x"\n',
  );
  expect(fault.message).not.toContain("hunter2");
});
