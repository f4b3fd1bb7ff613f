import { expect, test } from "bun:test";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseConfig } from "../../src/config/parse.ts";
import { movedPaths } from "../../src/config/paths.ts";
import { ConfigFault } from "../../src/config/problem.ts";
import { settings } from "../../src/config/schema.ts";
import { tempFolder } from "../support/node.ts";

const file = "/srv/node/config.toml";

/** A valid text in which the key at `path` has this value. */
function textWith(path: readonly string[], value: string): string {
  const lines = (table: string | undefined) =>
    settings
      .filter((setting) => setting.table === table)
      .flatMap(({ name, path: own, key }) => {
        if (own.join() === path.join()) return [`${name} = ${JSON.stringify(value)}`];
        if (name.startsWith("tls_") && path[0]?.startsWith("tls_")) return [`${name} = "other.pem"`];
        return key.type.isOptional() ? [] : [`${name} = ${JSON.stringify(key.initial)}`];
      });
  const tables = ["tls", "logging", "database", "files"].flatMap((table) => [`[${table}]`, ...lines(table)]);
  return [...lines(undefined), ...tables].join("\n");
}

function valueAt(text: string, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (at as Record<string, unknown>)[name],
    parseConfig(text, file).config,
  );
}

const pathKeys = settings.filter(({ key }) => key.typeLabel === "path");

test.each(pathKeys.map(({ path }) => [path.join("."), path] as const))(
  "a relative %s starts at the folder of the configuration, an absolute one stays",
  (_, path) => {
    expect(valueAt(textWith(path, "some/file"), path)).toBe("/srv/node/some/file");
    expect(valueAt(textWith(path, "../beside"), path)).toBe("/srv/beside");
    expect(valueAt(textWith(path, "/else/where"), path)).toBe("/else/where");
  },
);

test.each([
  ["sqlite://data/node.db?mode=rwc", "sqlite:///srv/node/data/node.db?mode=rwc"],
  ["sqlite:node.db", "sqlite:///srv/node/node.db"],
  ["sqlite://my%20data/a%23b.db?mode=rw", "sqlite:///srv/node/my%20data/a%23b.db?mode=rw"],
  ["sqlite:///var/lib/node.db", "sqlite:///var/lib/node.db"],
  ["postgres://u:p@h:5432/n?sslmode=require", "postgres://u:p@h:5432/n?sslmode=require"],
])("database_url %s means %s", (given, means) => {
  expect(valueAt(textWith(["database", "database_url"], given), ["database", "database_url"])).toBe(means);
});

test("the socket is beside the database, and with PostgreSQL in the folder data", () => {
  const at = ["unix_socket_path"];
  const beside = (url: string) => valueAt(textWith(["database", "database_url"], url), at);
  expect(beside("sqlite://db/node.db")).toBe("/srv/node/db/node.sock");
  expect(beside("postgres://h/n")).toBe("/srv/node/data/node.sock");
});

test("a file that exists only at the path from the working directory is reported with what to write", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "data"));
  await writeFile(join(folder.path, "data/node.db"), "");
  const { relative } = parseConfig(textWith(["static_path"], "data"), "/srv/none/config.toml");
  const moved = movedPaths(relative, folder.path);
  expect(moved.map(({ path }) => path.join("."))).toEqual(["static_path", "database.database_url"]);
  expect(moved[1]?.why).toStartWith(
    `/srv/none/data/node.db does not exist, but ${folder.path}/data/node.db does. `,
  );
  expect(moved[1]?.why).toEndWith(` write database_url = "sqlite://${folder.path}/data/node.db?mode=rwc"`);
  expect(movedPaths(relative, "/srv/none")).toEqual([]);
});

test("two keys that name one file are refused with both names, whatever the path to it looks like", async () => {
  await using folder = await tempFolder();
  const config = join(folder.path, "config.toml");
  await mkdir(join(folder.path, "data"));
  await symlink(join(folder.path, "data"), join(folder.path, "link"));
  const problemsOf = (top: string, logging: string, url = "sqlite://data/node.db?mode=rwc") => {
    const text = `ws_listener = "127.0.0.1:1"\n${top}\n[logging]\n${logging}\n[database]\ndatabase_url = "${url}"\n`;
    try {
      parseConfig(text, config);
      return [];
    } catch (error) {
      if (!(error instanceof ConfigFault)) throw error;
      return error.problems.map(({ field, why }) => [field, /same file as (.*?)(, or |;)/.exec(why)?.[1]]);
    }
  };
  const linkKey = "the file of the link key (link_key_file)";
  const database = "database_url";
  const own = "the configuration file";
  for (const [top, logging, field, other] of [
    ["", 'access_log = "config.link-key"', "logging.access_log", linkKey],
    ["", 'access_log = "data/config.link-key"', "logging.access_log", linkKey],
    ["", 'access_log = "config.uuid"', "logging.access_log", "the file of server_uuid"],
    ["", 'json_log_file = "config.toml"', "logging.json_log_file", own],
    ["", 'access_log = "data/node.db"', "logging.access_log", database],
    ["", 'access_log = "link/../data/node.db-wal"', "logging.access_log", database],
    ["", 'json_log_file = "link/node.db.lock"', "logging.json_log_file", database],
    ["", 'json_log_file = "a.log"\naccess_log = "./a.log"', "logging.access_log", "json_log_file"],
    ['static_path = "s"', 'access_log = "s"', "logging.access_log", "static_path"],
    ['backup_dir = "b"', 'access_log = "b"', "logging.access_log", "backup_dir"],
    ['tls_cert = "c.pem"\ntls_key = "k.pem"', 'access_log = "k.pem"', "logging.access_log", "tls_key"],
    ['link_key_file = "data/node.db"', "", "database.database_url", linkKey],
    ["enable_unix_socket = true", 'access_log = "data/node.sock"', "logging.access_log", "unix_socket_path"],
    // The socket's path is the default here.
    ['enable_unix_socket = true\nlink_key_file = "data/node.sock"', "", "link_key_file", "unix_socket_path"],
  ] as const)
    expect([top, logging, problemsOf(top, logging)]).toEqual([top, logging, [[field, other]]]);
  expect(problemsOf("", "", "sqlite://config.toml")).toEqual([["database.database_url", own]]);
  for (const [top, logging] of [
    ["", 'json_log_file = "/dev/stderr"\naccess_log = "/dev/stderr"'],
    ["", 'json_log_file = "a.log"\naccess_log = "a.log.1"'],
    ['tls_cert = "both.pem"\ntls_key = "both.pem"', ""],
    ['static_path = "data"\nbackup_dir = "data"', 'access_log = "data/a.log"'],
    ['link_key_file = "other"', 'access_log = "config.link-key"'],
    ['unix_socket_path = "a.log"', 'access_log = "a.log"'],
  ] as const)
    expect([top, logging, problemsOf(top, logging)]).toEqual([top, logging, []]);
});
