import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseConfig } from "../../src/config/parse.ts";
import { movedPaths } from "../../src/config/paths.ts";
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
  const tables = ["logging", "database", "files"].flatMap((table) => [`[${table}]`, ...lines(table)]);
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
