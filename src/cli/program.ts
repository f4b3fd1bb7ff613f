import type { Command } from "commander";
import type { ServeOptions } from "../host/serve.ts";
import { backupCommands } from "./backup/commands.ts";
import { buckets } from "./buckets/bucket-commands.ts";
import type { CommandRow } from "./command-row.ts";
import { shells } from "./completion/shells.ts";
import type { Context } from "./context.ts";
import { fileCommands } from "./files/file-commands.ts";
import { linkCommands } from "./links/link-commands.ts";
import {
  allowHttp,
  gather,
  json,
  listen,
  onlyWithAll,
  parseCount,
  parseDuration,
  processes,
  remote,
  remoteJson,
  unit,
  unitProcesses,
  yes,
} from "./options.ts";
import { siteCommands } from "./sites/site-commands.ts";
import { tokens } from "./tokens/token-commands.ts";

const service: CommandRow = {
  name: "service",
  description: "run the server with systemd",
  commands: [
    {
      name: "install",
      description: "write the unit file, enable and start it; the database must exist (init)",
      options: [
        ...unit,
        ["--user <user>", "the account that the server runs as (default: the one that ran sudo)"],
        unitProcesses,
        ["--print", "print the unit file and change nothing"],
        ["--no-start", "write the unit file, but do not call systemctl"],
      ],
      load: async () => (await import("./server/service.ts")).installService,
    },
    {
      name: "uninstall",
      description: "stop it and remove the unit file",
      options: [...unit, ["--no-start", "remove the unit file, but do not call systemctl"]],
      load: async () => (await import("./server/service.ts")).uninstallService,
    },
  ],
};

/** Commands of the machine that the server runs on. */
const serverCommands: readonly CommandRow[] = [
  {
    name: "serve",
    description: "run the server; creates a missing configuration and database",
    options: [listen("listen here instead of at ws_listener"), processes],
    load: async () => {
      const { serve } = await import("../host/serve.ts");
      return (options: Omit<ServeOptions, "isConfigGiven">, _: Context, command: Command) =>
        serve({
          ...options,
          isConfigGiven: command.getOptionValueSourceWithGlobals("config") === "cli",
        });
    },
  },
  {
    name: "init",
    description: "create the configuration, the database and the Super Token, print its credentials, exit",
    options: [listen("ws_listener of the new configuration")],
    load: async () => (await import("./server/init.ts")).init,
  },
  {
    name: "roll-super-token",
    description: "give the Super Token new credentials; the old ones are invalid at once",
    options: [yes],
    load: async () => (await import("./server/roll-super-token.ts")).rollSuper,
  },
  {
    name: "get-uuid",
    description: "print the server's UUID",
    load: async () => (await import("./server/get-uuid.ts")).getUuid,
  },
  {
    name: "check",
    description: "check the configuration and the files it names; list problems with line and column",
    options: [
      ["--connect", "also connect to the database and the file store"],
      ["--files", "also compare the object store with the database; the server can be running"],
      ["--content", "with --files, also read all content and compare its SHA-256"],
      ["--repair", "with --files, delete unreferenced blobs older than 24 hours"],
      ["--claim", "with --files, make the database the owner of the store, even if another one owns it"],
      ["--json", "with --files, print the result as JSON"],
    ],
    load: async () => (await import("./server/check.ts")).check,
  },
  {
    name: "health [url]",
    description: "check that a server is healthy (default: the one of the configuration); exits 0 or 1",
    options: [
      ["--ready", "also check that it is ready: database, files"],
      ["--ca <file>", "check the certificate of an https URL against this file (PEM)"],
    ],
    load: async () => (await import("./server/health.ts")).health,
  },
  {
    name: "version",
    description: "print the version and the build",
    options: [["--json", "print the whole build record as JSON"]],
    load: async () => (await import("./server/version.ts")).version,
  },
  {
    name: "update",
    description: "update the running server to a release, or the binary if no server runs",
    options: [
      ["--tag <tag>", "the version, as vX.Y.Z (default: the newest release)"],
      ["--check", "only check for a newer release"],
      ["--all", "update every node of a cluster, one by one; stop at the first failure"],
      ...onlyWithAll,
    ],
    load: async () => (await import("./server/update.ts")).update,
  },
  ...backupCommands,
  service,
  {
    name: "release-server <folder>",
    description: "serve a folder of releases to servers that update themselves",
    options: [["--listen <address>", "the address to listen on", { default: "127.0.0.1:2212" }]],
    load: async () => (await import("./server/release-server.ts")).releaseServer,
  },
];

/** Commands that make the binary a client: whom to talk to, calls, the log, SQL. */
const clientCommands: readonly CommandRow[] = [
  {
    name: "login <url>",
    description: "save a server with a token, and use it from now on",
    options: [
      ["--name <name>", "the name of the server here (default: from the address)"],
      ["--ca <file>", "check the server's certificate against this file (PEM); saved with the login"],
      json,
    ],
    load: async () => (await import("./login/login.ts")).login,
  },
  {
    name: "logout [name]",
    description: "remove a saved server and its token (default: the one in use)",
    load: async () => (await import("./login/logout.ts")).logout,
  },
  {
    name: "servers",
    description: "list the saved servers; * is in use",
    commands: [
      {
        name: "list",
        description: "list saved servers",
        isDefault: true,
        options: [json],
        load: async () => (await import("./login/list-servers.ts")).listServers,
      },
      {
        name: "use <name>",
        description: "use this server from now on",
        load: async () => (await import("./login/list-servers.ts")).chooseServer,
      },
    ],
  },
  {
    name: "call [method] [params...]",
    description: "call any method of a server",
    options: [...remote, ["--json", "print JSON even on a terminal"]],
    ownHelp: "show help for this command, or for METHOD",
    load: async () => (await import("./call/call.ts")).call,
  },
  {
    name: "logs",
    description: "print the log entries that a server keeps in memory",
    options: [
      ...remote,
      ["--all", "print the entries of every node of its cluster, by time, with the name of the node"],
      allowHttp,
      ["-f, --follow", "also print new entries, until Ctrl+C"],
      ["-n, --lines <number>", "print only the last entries, this many", { parse: parseCount }],
      ["--since <time>", "print only entries of the last 90m, 12h, 7d, …", { parse: parseDuration }],
      ["--filter <filter>", "in the syntax of RUST_LOG: info, debug,db=trace, token (default with -f: info)"],
      ["--json", "print one JSON object per line"],
    ],
    load: async () => (await import("./logs/logs.ts")).logs,
  },
  {
    name: "sql [statement]",
    description: "run SQL on a server's database; without a statement, read statements from the terminal",
    options: [
      ...remote,
      ["-f, --file <file>", "read the statements from a file (- is standard input)"],
      ["--param <value>", "a value for the next placeholder, as JSON or text; repeatable", { parse: gather }],
      ["--csv", "print CSV (RFC 4180)"],
      json,
    ],
    notes:
      "\nRuns all statements and prints the result of the last one. Instead of statements, \\dt lists the\ntables and \\d TABLE shows the columns and indexes of one; \\? helps.",
    load: async () => (await import("./sql/sql.ts")).sql,
  },
  {
    name: "completion <shell>",
    description: "print the completion script for a shell",
    choices: shells,
    load: async () => (await import("./completion/completion.ts")).completion,
  },
  {
    name: "man",
    description: "print the manual page, node-server(1)",
    load: async () => {
      const { printManPage } = await import("./manual/man-page.ts");
      return (_: unknown, ctx: Context) => printManPage(ctx, commands);
    },
  },
  {
    name: "complete [words...]",
    description: "",
    hidden: true,
    load: async () => (await import("./completion/complete.ts")).complete,
  },
];

/** Commands that deploy sites and look after a server from afar. */
const deployCommands: readonly CommandRow[] = [
  ...siteCommands,
  ...fileCommands,
  ...linkCommands,
  buckets,
  tokens,
  {
    name: "storage",
    description: "print the disk space of each table",
    options: remoteJson,
    load: async () => (await import("./status/storage.ts")).storage,
  },
  {
    name: "status",
    description: "print the state of a server and of the token in use",
    options: remoteJson,
    load: async () => (await import("./status/status.ts")).status,
  },
  {
    name: "nodes",
    description: "list the nodes that use the server's database; * answered",
    options: remoteJson,
    load: async () => (await import("./status/nodes.ts")).nodes,
  },
];

/** The headings of the help, with their commands. */
const groups: Readonly<Record<string, readonly string[]>> = {
  "Sites and files:": [
    ...["deploy", "rollback", "deploys", "push", "pull", "check-site", "ls", "cat", "cp", "mv", "rm"],
    ...["link", "links", "roll-link-secret", "buckets"],
  ],
  "Servers:": ["login", "logout", "servers", "status", "nodes", "logs", "sql", "storage", "tokens", "call"],
  "Run a server on this machine:": [
    ...["serve", "init", "check", "health", "service", "update", "backup", "restore", "migrate"],
    ...["roll-super-token", "get-uuid", "release-server"],
  ],
  "About this program:": ["version", "completion", "man"],
};

const hidden: readonly CommandRow[] = [
  {
    name: "sql-child",
    description: "",
    hidden: true,
    load: async () => (await import("./server/sql-child.ts")).sqlChild,
  },
  {
    name: "backup-child",
    description: "",
    hidden: true,
    load: async () => (await import("./backup/backup-child.ts")).backupChild,
  },
];

/** Every command, in the order of the help. A command is registered here and nowhere else. */
export const commands: readonly CommandRow[] = inGroups([
  ...serverCommands,
  ...clientCommands,
  ...deployCommands,
  ...hidden,
]);

function inGroups(rows: readonly CommandRow[]): readonly CommandRow[] {
  const grouped = Object.entries(groups).flatMap(([group, names]) =>
    names.map((name): CommandRow => {
      const row = rows.find((other) => other.name.split(" ", 1)[0] === name);
      if (row === undefined) throw new Error(`there is no command ${name}`);
      return { ...row, group };
    }),
  );
  const others = rows.filter(({ name }) => !grouped.some((row) => row.name === name));
  const lost = others.find((row) => !row.hidden);
  if (lost !== undefined) throw new Error(`the command ${lost.name} is in no group of the help`);
  return [...grouped, ...others];
}
