import { Database } from "bun:sqlite";
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
    for (const key of ["2:1: colour", "5:1: logging.loud", "9:1: extra"])
      expect(stderr).toContain(`warning: config.toml:${key}: is unknown and has no effect\n`);
  },
);

story("check warns of certificates that nobody could order, and of a name that gets none", async () => {
  const orders = '[tls]\nauto = true\nserver_name = "node.example.com"';
  const inside = await check(configWith({ top: `node_url = "https://inside.example.com"\n${orders}` }));
  expect(inside.code).toBe(0);
  expect(inside.stderr).toMatch(/tls\.auto: orders certificates, but only this machine reaches ws_listener/);
  expect(inside.stderr).toMatch(
    /node_url: has a name for which no certificate is ordered; use node\.example\.com/,
  );
  const open = configWith({ top: `node_url = "https://node.example.com"\n${orders}` });
  const outside = await check(open.replace("127.0.0.1:2211", "0.0.0.0:2211"));
  expect([outside.code, outside.stderr]).toEqual([0, ""]);
  const nameless = await check(configWith({ top: "[tls]\nauto = true" }).replace("127.0.0.1", "0.0.0.0"));
  expect(nameless.stderr).toContain("has no name to order a certificate for");
});

story("check --connect refuses a secret that does not open the private keys in the database", async () => {
  const secret = 'secret = "0123456789abcdef0123456789abcdef"';
  const orders = `http_listener = "127.0.0.1:1"\n[tls]\nauto = true\nserver_name = "node.example.com"\n${secret}\n`;
  await using home = await newHome({ top: orders });
  expect(await home.run(["init"])).toMatchObject({ code: 0 });
  const connected = () => home.run(["check", "--connect"]);
  expect(await connected()).toMatchObject({ code: 0 });
  using file = new Database(home.file("data/node.db"));
  file.run("INSERT INTO kv (namespace, key, value) VALUES ('tls/keys', 'node.example.com.pem', '\"x\"')");
  expect(await connected()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the secret of [tls] does not open node.example.com.pem"),
  });
});

const mistakes: ReadonlyArray<[what: string, text: string, says: RegExp]> = [
  ["broken syntax", configWith({ logging: "log_filter = = 1" }), /config\.toml:5:14: this is not TOML: /],
  [
    "an unclosed string",
    configWith({ top: 'static_path = "x' }),
    /config\.toml:2:15: the text that begins here has no closing quote/,
  ],
  [
    "a key given twice",
    configWith({ top: 'ws_listener = "127.0.0.1:1"' }),
    /config\.toml:2:1: ws_listener: is set twice, first on line 1; /,
  ],
  ["an empty file", "", /toml:1:1: ws_listener: is missing; .*\n.*toml:1:1: database: is missing; /],
  [
    "a missing key of a table",
    'ws_listener = "127.0.0.1:1"\n\n[database]\n',
    /toml:3:1: database\.database_url: is missing; /,
  ],
  [
    "a text for a number",
    configWith({ top: '  jsonrpc_max_connections = "many"' }),
    /toml:2:29: jsonrpc_max_connections: must be a whole number/,
  ],
  [
    "a fraction",
    configWith({ database: "max_connections = 1.5" }),
    /toml:9:19: database\.max_connections: must be a whole number/,
  ],
  [
    "a number below the smallest",
    configWith({ database: "timeout_ms = 0" }),
    /toml:9:14: database\.timeout_ms: must be 1 or more/,
  ],
  [
    "an impossible port",
    'ws_listener = "127.0.0.1:70000"\n[database]\ndatabase_url = "sqlite:x"',
    /toml:1:15: ws_listener: must be an address and a port/,
  ],
  [
    "a filter that cannot be read",
    configWith({ logging: 'log_filter = "db=loud"' }),
    /toml:5:14: logging\.log_filter: .*`loud` is not a level/,
  ],
  [
    "a UUID that is none",
    configWith({ top: 'server_uuid = "me"' }),
    /toml:2:15: server_uuid: must be a UUID/,
  ],
  [
    "an unknown database",
    'ws_listener = "127.0.0.1:1"\n[database]\n\tdatabase_url = "mysql://root@db/node"',
    /toml:3:17: database\.database_url: must begin with sqlite:/,
  ],
  [
    "a table that is a number",
    'logging = 5\nws_listener = "h:1"\n',
    /toml:1:11: logging: must be a table: write \[logging\]/,
  ],
  [
    "a mistake in a dotted key",
    'ws_listener = "h:1"\ndatabase.database_url = "sqlite:x"\ndatabase . "max_connections" = 0\n',
    /toml:3:32: database\.max_connections: must be 1 or more/,
  ],
  [
    "a mistake in an inline table",
    'ws_listener = "h:1"\ndatabase = { database_url = "sqlite:x", max_connections = 0 }\n',
    /toml:2:59: database\.max_connections: must be 1 or more/,
  ],
  [
    "a mistake after a text of several lines",
    'note = """\nws_listener = 1\n"""\nws_listener = 1\n[database]\ndatabase_url = "sqlite:x"',
    /toml:4:15: ws_listener: must be a text in quotes/,
  ],
  [
    "a mistake after a key with an escape of TOML's own",
    '"\\U0001F600" = 1\nws_listener = 1\n[database]\ndatabase_url = "sqlite:x"',
    /toml:2:15: ws_listener: must be a text in quotes/,
  ],
  [
    "a certificate without its key",
    configWith({ top: 'tls_cert = "c.pem"' }),
    /toml:2:12: tls_cert: needs tls_key/,
  ],
  [
    "a key without its certificate",
    configWith({ top: 'tls_key = "k.pem"' }),
    /toml:2:11: tls_key: needs tls_cert/,
  ],
  [
    "a database in memory",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "sqlite::memory:"',
    /toml:3:16: database\.database_url: /,
  ],
  [
    "a database with a mode that does not exist",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "sqlite:x?mode=ro"',
    /toml:3:16: database\.database_url: /,
  ],
  [
    "a database address that is no URL",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "postgres://user:pa/ss@db/node"',
    /toml:3:16: database\.database_url: is ambiguous; percent-encode special characters of the password/,
  ],
  [
    "an sslmode that does not exist",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "postgres://node@db/node?sslmode=bogus"',
    /toml:3:16: database\.database_url: has an unknown sslmode; use disable, prefer, require or verify-full\n/,
  ],
  [
    "an sslmode that the two clients of PostgreSQL read differently",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "postgres://node@db/node?sslmode=verify-ca"',
    /toml:3:16: database\.database_url: has an unknown sslmode; /,
  ],
  [
    "an impossible port of PostgreSQL",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "postgres://node:pw@db:99999/node"',
    /toml:3:16: database\.database_url: has an invalid port; write a number from 1 to 65535/,
  ],
  [
    "a host of PostgreSQL that is none",
    'ws_listener = "h:1"\n[database]\ndatabase_url = "postgres://[half/node"',
    /toml:3:16: database\.database_url: is not a valid URL; write it as postgres:/,
  ],
];

const odd: ReadonlyArray<[what: string, text: string, says: string]> = [
  [
    "a misspelt table",
    configWith({ database: "[loging]" }),
    "9:1: loging: is unknown and has no effect; did you mean logging?",
  ],
  [
    "a misspelt level",
    configWith({ logging: 'log_filter = "inof"' }),
    "5:14: logging.log_filter: names the target `inof`",
  ],
];

for (const [what, text, says] of odd) {
  story(`check accepts ${what} and warns of it, with line, column and a suggestion`, async () => {
    const { code, stderr } = await check(text);
    expect(code).toBe(0);
    expect(stderr).toStartWith(`warning: config.toml:${says}`);
    expect(stderr).toContain("did you mean");
  });
}

for (const [what, text, says] of mistakes) {
  story(`check names key, line and column of ${what}`, async () => {
    const { code, stdout, stderr } = await check(text);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^(node-server: config\.toml:\d+:\d+: [^\n]+\n)+$/);
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
  const where = [...stderr.matchAll(/^node-server: config\.toml:(\d+):\d+: ([\w.]+): /gm)];
  expect(where.map(([, line, key]) => `${key} line ${line}`).sort()).toEqual([
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
