import { expect } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { Home, newHome, story } from "../support/process.ts";

async function check(text: string) {
  await using home = await Home.open();
  await writeFile(home.configPath, text);
  const finished = await home.run(["check"]);
  expect(await readdir(home.path)).toEqual(["config.toml"]);
  return finished;
}

/** A valid configuration, with a line of one's own put in at line 2 (top), 5 (logging) or 9 (database). */
function configWith(line: { top?: string; logging?: string; database?: string }): string {
  return [
    'ws_listener = "127.0.0.1:2211"',
    line.top ?? "",
    "",
    "[logging]",
    line.logging ?? "",
    "",
    "[database]",
    'database_url = "sqlite://data/node.db?mode=rwc"',
    line.database ?? "",
    "",
  ].join("\n");
}

story(
  "check finds nothing wrong with a valid file, makes nothing, and warns of keys that mean nothing",
  async () => {
    const { code, stdout, stderr } = await check(
      configWith({ top: "colour = 1", logging: "loud = true", database: "[extra]\nkey = 2" }),
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: "config.toml is a valid configuration.\n" });
    for (const key of ["colour", "logging.loud", "extra"]) {
      expect(stderr).toContain(`warning: ${key} is unknown and has no effect\n`);
    }
  },
);

const mistakes: ReadonlyArray<[what: string, text: string, says: RegExp]> = [
  ["broken syntax", configWith({ logging: "log_filter = = 1" }), /not TOML.*line 5, column 14\b/],
  ["an unclosed string", configWith({ top: 'static_path = "x' }), /not TOML.*line 2\b/],
  ["a key given twice", configWith({ top: 'ws_listener = "127.0.0.1:1"' }), /not TOML.*line 2\b/],
  ["an empty file", "", /ws_listener is missing \(line 1, column 1\); database is missing/],
  [
    "a missing key of a table",
    'ws_listener = "127.0.0.1:1"\n\n[database]\n',
    /database\.database_url is missing \(line 3, column 1\)/,
  ],
  [
    "a text for a number",
    configWith({ top: '  jsonrpc_max_connections = "many"' }),
    /jsonrpc_max_connections .*number.*\(line 2, column 3\)/,
  ],
  [
    "a fraction",
    configWith({ database: "max_connections = 1.5" }),
    /database\.max_connections .*int.*\(line 9, column 1\)/,
  ],
  [
    "a number below the smallest",
    configWith({ database: "connect_timeout_ms = 0" }),
    /database\.connect_timeout_ms .*\(line 9, column 1\)/,
  ],
  [
    "an impossible port",
    'ws_listener = "127.0.0.1:70000"\n[database]\ndatabase_url = "sqlite:x"',
    /ws_listener must be `ip:port`.*\(line 1, column 1\)/,
  ],
  [
    "a filter that cannot be read",
    configWith({ logging: 'log_filter = "db=loud"' }),
    /logging\.log_filter .*`loud` is no level.*\(line 5, column 1\)/,
  ],
  [
    "a UUID that is none",
    configWith({ top: 'server_uuid = "me"' }),
    /server_uuid .*UUID.*\(line 2, column 1\)/,
  ],
  [
    "an unknown database",
    'ws_listener = "127.0.0.1:1"\n[database]\n\tdatabase_url = "mysql://root@db/node"',
    /database\.database_url must begin with sqlite:.*\(line 3, column 2\)/,
  ],
  ["a table that is a number", 'logging = 5\nws_listener = "h:1"\n', /logging .*\(line 1, column 1\)/],
  [
    "a mistake in a dotted key",
    'ws_listener = "h:1"\ndatabase.database_url = "sqlite:x"\ndatabase . "max_connections" = 0\n',
    /database\.max_connections .*\(line 3, column 1\)/,
  ],
  [
    "a mistake in an inline table",
    'ws_listener = "h:1"\ndatabase = { database_url = "sqlite:x", max_connections = 0 }\n',
    /database\.max_connections .*\(line 2, column \d+\)/,
  ],
  [
    "a mistake after a text of several lines",
    'note = """\nws_listener = 1\n"""\nws_listener = 1\n[database]\ndatabase_url = "sqlite:x"',
    /ws_listener .*\(line 4, column 1\)/,
  ],
  [
    "a mistake after a key with an escape of TOML's own",
    '"\\U0001F600" = 1\nws_listener = 1\n[database]\ndatabase_url = "sqlite:x"',
    /ws_listener .*\(line 2, column 1\)/,
  ],
  [
    "a certificate without its key",
    configWith({ top: 'tls_cert = "c.pem"' }),
    /tls_cert needs tls_key.*line 2/,
  ],
  [
    "a key without its certificate",
    configWith({ top: 'tls_key = "k.pem"' }),
    /tls_key needs tls_cert.*line 2/,
  ],
  [
    "a database in memory",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "sqlite::memory:"',
    /database_url .*\(line 3, column 1\)/,
  ],
  [
    "a database with a mode that does not exist",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "sqlite:x?mode=ro"',
    /database_url .*\(line 3, column 1\)/,
  ],
  [
    "a database address that is no URL",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "postgres://user:pa/ss@db/node"',
    /database_url .*\(line 3, column 1\)/,
  ],
];

for (const [what, text, says] of mistakes) {
  story(`check names key, line and column of ${what}`, async () => {
    const { code, stdout, stderr } = await check(text);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^node-server: [^\n]+\n$/);
    expect(stderr).not.toContain("this is a bug");
    expect(stderr).toMatch(says);
  });
}

story("check names every mistake of a file at once", async () => {
  const { code, stderr } = await check(
    [
      "ws_listener = 2211",
      'server_uuid = "me"',
      "sync_uploads = 1",
      'tls_cert = "cert.pem"',
      "[logging]",
      "memory_log_capacity = -1",
      "[database]",
      'database_url = "sqlite:x"',
      'max_connections = "ten"',
    ].join("\n"),
  );
  expect(code).toBe(1);
  const where = [...stderr.matchAll(/(?:^node-server: configuration: |; )([\w.]+) [^;]*?\((line \d+)/g)];
  expect(where.map(([, key, line]) => `${key} ${line}`).sort()).toEqual([
    "database.max_connections line 9",
    "logging.memory_log_capacity line 6",
    "server_uuid line 2",
    "sync_uploads line 3",
    "tls_cert line 4",
    "ws_listener line 1",
  ]);
});

story("serve refuses what check refuses, in the same words, before it makes anything", async () => {
  await using home = await newHome({ top: 'tls_cert = "c.pem"' });
  const [checked, served] = [await home.run(["check"]), await home.run(["serve"])];
  expect(served).toEqual(checked);
  expect(await readdir(home.path)).toEqual(["config.toml"]);
});
