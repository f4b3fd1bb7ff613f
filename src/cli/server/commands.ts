import { build } from "../../build.ts";
import { type CommandRow, command, exitCodes } from "../command.ts";
import { explainFileError } from "../errors.ts";
import { listen, onlyWithAll, processes, unit, unitProcesses, yes } from "../options.ts";
import { interruptible } from "../terminal/interrupt.ts";

const service: CommandRow = {
  name: "service",
  summary: "run the server with systemd",
  commands: [
    command({
      name: "install",
      summary: "write the unit file, enable and start it; the database must exist (init)",
      options: [
        ...unit,
        ["--user <user>", "the account that the server runs as (default: the one that ran sudo)"],
        unitProcesses,
        ["--print", "print the unit file and change nothing"],
        ["--no-start", "write the unit file, but do not call systemctl"],
      ],
      run: async (options, ctx) => (await import("./service.ts")).installService(options, ctx),
    }),
    command({
      name: "uninstall",
      summary: "stop it and remove the unit file",
      options: [...unit, ["--no-start", "remove the unit file, but do not call systemctl"]],
      run: async (options, ctx) => (await import("./service.ts")).uninstallService(options, ctx),
    }),
  ],
};

export const version = command({
  name: "version",
  summary: "print the version and the build",
  options: [["--json", "print the whole build record as JSON"]],
  async run() {
    const line = `node-server ${build.cargo_version} (${build.cargo_target_triple}, commit ${build.git_commit_sha.slice(0, 12)}, built ${build.build_time})`;
    return { json: build, text: `${line}\n` };
  },
});

/** Commands of the machine that the server runs on, in the order of the help. */
export const serverCommands: readonly CommandRow[] = [
  command({
    name: "serve",
    summary: "run the server; creates a missing configuration and database",
    options: [listen("listen here instead of at ws_listener"), processes],
    run: async ({ config, listen, processes }, _, command) =>
      (await import("../../host/serve.ts")).serve({
        config,
        listen,
        processes,
        isConfigGiven: command.getOptionValueSourceWithGlobals("config") === "cli",
      }),
  }),
  command({
    name: "init",
    summary: "create the configuration, the database and the Super Token, print its credentials, exit",
    options: [listen("ws_listener of the new configuration")],
    run: async (options, ctx) => (await import("./init.ts")).init(options, ctx),
  }),
  command({
    name: "check",
    summary: "check the configuration and the files it names; list problems with line and column",
    options: [
      ["--connect", "also connect to the database and the file store"],
      ["--files", "also compare the object store with the database; the server can be running"],
      ["--content", "with --files, also read all content and compare its SHA-256"],
      ["--repair", "with --files, delete unreferenced blobs older than 24 hours"],
      ["--claim", "with --files, make the database the owner of the store, even if another one owns it"],
      ["--json", "with --files, print the result as JSON"],
    ],
    run: async (options, ctx) => (await import("./check.ts")).check(options, ctx),
  }),
  command({
    name: "health [url]",
    summary: "check that a server is healthy (default: the one of the configuration); exits 0 or 1",
    options: [
      ["--ready", "also check that it is ready: database, files"],
      ["--ca <file>", "check the certificate of an https URL against this file (PEM)"],
    ],
    run: async (options, ctx) => (await import("./health.ts")).health(options, ctx),
  }),
  service,
  command({
    name: "update",
    summary: "update the running server to a release, or the binary if no server runs",
    options: [
      ["--tag <tag>", "the version, as vX.Y.Z (default: the newest release)"],
      ["--check", "only check for a newer release"],
      ["--all", "update every node of a cluster, one by one; stop at the first failure"],
      ...onlyWithAll,
    ],
    run: async (options, ctx) => (await import("./update.ts")).update(options, ctx),
  }),
  command({
    name: "backup <file>",
    summary: "back up the database and the configuration; the server can be running",
    options: [
      ["--files", "include the files of all buckets"],
      ["--keys", "include private keys of certificates, if they are in the database"],
    ],
    notes: "\nFILE - is standard output.",
    run: async (options, ctx) => (await import("../backup/backup.ts")).backup(options, ctx),
  }),
  command({
    name: "restore <file>",
    summary: "replace the database of a stopped server with a backup",
    options: [
      yes,
      ["--files", "also restore the files of buckets (default: if the backup has them)"],
      ["--no-files", "do not restore files"],
      ["--replace-config", "also replace an existing configuration and UUID"],
    ],
    notes:
      "\nFILE - is standard input and needs --yes. The whole backup is checked first. If no configuration exists, the one in the backup is written.",
    run: async (options, ctx) => (await import("../backup/restore.ts")).restore(options, ctx),
  }),
  command({
    name: "migrate",
    summary:
      "copy the database of a stopped server to an empty one (SQLite or PostgreSQL), its files to another file store, or both",
    options: [
      [
        "--to <url>",
        "database_url of the new database: postgres://… or sqlite://…; - reads it from standard input",
      ],
      ["--write-config", "write the new database or file store into the configuration"],
      [
        "--files <store>",
        "the new file store: s3://bucket/prefix, file:///folder or disk; see [files] in the configuration",
      ],
      ["--delete", "with --files, also delete files in the new store that no bucket has"],
    ],
    run: async (options, ctx) => (await import("../backup/migrate.ts")).migrate(options, ctx),
  }),
  command({
    name: "roll-super-token",
    summary: "give the Super Token new credentials; the old ones are invalid at once",
    options: [yes],
    run: async (options, ctx) => (await import("./init.ts")).rollSuper(options, ctx),
  }),
  command({
    name: "get-uuid",
    summary: "print the server's UUID",
    run: async (options, ctx) => (await import("./init.ts")).getUuid(options, ctx),
  }),
  command({
    name: "release-server <folder>",
    summary: "serve a folder of releases to servers that update themselves",
    options: [["--listen <address>", "the address to listen on", { default: "127.0.0.1:2212" }]],
    run: async (options, ctx) => (await import("./release-server.ts")).releaseServer(options, ctx),
  }),
];

/** Commands that the server starts as child processes; they are not for people. */
export const childCommands: readonly CommandRow[] = [
  command({
    name: "sql-child",
    summary: "",
    hidden: true,
    async run() {
      await (await import("../../db/operator/sqlite/child.ts")).runSqliteChild();
      return exitCodes.done;
    },
  }),
  command({
    name: "backup-child",
    summary: "",
    hidden: true,
    run: (_, ctx) =>
      interruptible(ctx, "interrupted; no backup was made", async (signal) => {
        const { runBackupChild } = await import("../../backup/schedule.ts");
        await runBackupChild({ signal, explain: explainFileError });
        return exitCodes.done;
      }),
  }),
];
