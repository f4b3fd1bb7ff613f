import { expect } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { newHome, type Settings, story } from "../support/process.ts";

interface Failure {
  readonly where: string;
  readonly database?: string;
  readonly settings?: Settings;
  readonly env?: Record<string, string>;
  /** Default: `serve`. */
  readonly args?: string[];
  readonly says: RegExp;
}

const failures: readonly Failure[] = [
  {
    where: "the configuration is a folder",
    args: ["serve", "-c", "folder"],
    says: /the configuration \/.*\/folder is a folder, not a file/,
  },
  {
    where: "the configuration cannot be created",
    args: ["init", "-c", "plain/config.toml"],
    says: /the configuration \/.*\/plain\/config\.toml cannot be created: \/.*\/plain is a file/,
  },
  {
    where: "RUST_LOG cannot be read",
    env: { RUST_LOG: "server=loud" },
    says: /RUST_LOG: .*`loud` is not a level/,
  },
  {
    where: "the log file cannot be opened",
    settings: { logging: 'json_log_file = "plain/node.log"' },
    says: /plain\/node\.log/,
  },
  {
    where: "the database is no database",
    database: "sqlite://plain?mode=rwc",
    says: /database_url: the database \/.*\/plain is another kind of file, not a SQLite database/,
  },
  {
    where: "check is given a file that is no database",
    args: ["check"],
    database: "sqlite://plain",
    says: /toml:6:16: database\.database_url: the database \/.*\/plain is another kind of file/,
  },
  {
    where: "the database is a folder",
    database: "sqlite://folder?mode=rwc",
    says: /\/folder is a folder, not a file/,
  },
  {
    where: "the folder of the database is a file",
    database: "sqlite://plain/node.db?mode=rwc",
    says: /plain\/node\.db/,
  },
  {
    where: "the database may not be made",
    database: "sqlite://absent.db",
    says: /absent\.db does not exist.*\?mode=rwc/,
  },
  { where: "the database is in memory", database: "sqlite::memory:", says: /database_url: must name a file/ },
  {
    where: "the database's mode is unknown",
    database: "sqlite://x.db?mode=ro",
    says: /database_url.*mode=ro/,
  },
  {
    where: "the database's path cannot be decoded",
    database: "sqlite://data/50%.db?mode=rwc",
    says: /database_url|data\/50%\.db/,
  },
  { where: "database_url is no URL", database: "postgres://[half/an/address", says: /database_url/ },
  {
    where: "there is no database whose Super Token could be rolled",
    args: ["roll-super-token", "--yes"],
    says: /the database \/.*\/data\/node\.db does not exist; `node-server init`.* creates it/,
  },
];

for (const { where, database, settings, env, args = ["serve"], says } of failures) {
  story(`${args[0]} ends with 1 and one clear line where ${where}`, async () => {
    await using home = await newHome(settings, database);
    await mkdir(home.file("folder"));
    await writeFile(home.file("plain"), "neither a database nor a folder\n".repeat(200));
    const { code, stdout, stderr } = await home.run(args, env === undefined ? {} : { env });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^node-server: [^\n]+\n$/),
    });
    expect(stderr).toMatch(says);
    expect(stderr).not.toContain("this is a bug");
  });
}
