import {
  createBucket,
  deleteBucket,
  listBuckets,
  publicNote,
  showBucket,
  updateBucket,
} from "./buckets/buckets.ts";
import { call, callNotes } from "./call/call.ts";
import type { CommandRow } from "./command-row.ts";
import { complete } from "./completion/complete.ts";
import { completion, shells } from "./completion/completion.ts";
import { pull } from "./deploy/pull/pull.ts";
import { push, pushNotes } from "./deploy/push/push.ts";
import { chooseServer, listServers } from "./login/list-servers.ts";
import { login } from "./login/login.ts";
import { logout } from "./login/logout.ts";
import { logs } from "./logs/logs.ts";
import { bucketShape, gather, json, remote, remoteJson, unit, yes } from "./options.ts";
import { check } from "./server/check.ts";
import { getUuid } from "./server/get-uuid.ts";
import { init } from "./server/init.ts";
import { releaseServer } from "./server/release-server.ts";
import { rollSuper } from "./server/roll-super-token.ts";
import { serve } from "./server/serve.ts";
import { installService, uninstallService } from "./server/service.ts";
import { sqlChild } from "./server/sql-child.ts";
import { update } from "./server/update.ts";
import { version } from "./server/version.ts";
import { sql } from "./sql/sql.ts";
import { status } from "./status/status.ts";
import { storage } from "./status/storage.ts";
import {
  createToken,
  deleteToken,
  listTokens,
  parseAllow,
  parseDuration,
  rollToken,
} from "./tokens/tokens.ts";

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
        ["--print", "print the unit file and change nothing"],
        ["--no-start", "write the unit file, but do not call systemctl"],
      ],
      run: installService,
    },
    {
      name: "uninstall",
      description: "stop it and remove the unit file",
      options: [...unit, ["--no-start", "remove the unit file, but do not call systemctl"]],
      run: uninstallService,
    },
  ],
};

/** Commands of the machine that the server runs on. */
const serverCommands: readonly CommandRow[] = [
  {
    name: "serve",
    description: "run the server; creates a missing configuration and database",
    run: serve,
  },
  {
    name: "init",
    description: "create the configuration, the database and the Super Token, print its credentials, exit",
    options: [["--listen <address>", "ws_listener of the new configuration, such as 0.0.0.0:2211"]],
    run: init,
  },
  {
    name: "roll-super-token",
    description: "give the Super Token new credentials; the old ones are invalid at once",
    options: [yes],
    run: rollSuper,
  },
  { name: "get-uuid", description: "print the server's UUID", run: getUuid },
  {
    name: "check",
    description: "list what is wrong with the configuration and the files it names, with line and column",
    options: [["--connect", "also connect to the database"]],
    run: check,
  },
  {
    name: "version",
    description: "print the version and the build",
    options: [["--json", "print the whole build record as JSON"]],
    run: version,
  },
  {
    name: "update",
    description: "update the running server to a release, or the binary if no server runs",
    options: [["--tag <tag>", "the version, as vX.Y.Z (default: the newest release)"]],
    run: update,
  },
  service,
  {
    name: "release-server <folder>",
    description: "serve a folder of releases to servers that update themselves",
    options: [["--listen <address>", "the address to listen on", { default: "127.0.0.1:2212" }]],
    run: releaseServer,
  },
];

/** Commands that make the binary a client: whom to talk to, calls, the log, SQL. */
const clientCommands: readonly CommandRow[] = [
  {
    name: "login <url>",
    description: "save a server and a token for it, and use it from now on",
    options: [
      ["--name <name>", "the name of the server here (default: from the address)"],
      [
        "--ca <file>",
        "check the server's certificate against those in this file (PEM); saved with the login",
      ],
    ],
    run: login,
  },
  {
    name: "logout [name]",
    description: "remove a saved server and its token (default: the one in use)",
    run: logout,
  },
  {
    name: "servers",
    description: "list the saved servers; * is in use",
    commands: [
      {
        name: "list",
        description: "list the saved servers",
        isDefault: true,
        options: [json],
        run: listServers,
      },
      { name: "use <name>", description: "use this one from now on", run: chooseServer },
    ],
  },
  {
    name: "call [method] [params...]",
    description: "call any method of a server",
    options: [...remote, ["--json", "print JSON also on a terminal"]],
    ownHelp: "show help for this command, or for METHOD",
    notes: callNotes,
    run: call,
  },
  {
    name: "logs",
    description: "print the log entries that a server keeps in memory",
    options: [
      ...remote,
      ["-f, --follow", "also print new entries, until Ctrl+C"],
      ["--filter <filter>", "as RUST_LOG: info, debug,db=trace, token (default with -f: info)"],
      ["--json", "print one JSON object per line"],
    ],
    run: logs,
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
    notes: "\nAll statements are run, and the result of the last one is printed.",
    run: sql,
  },
  {
    name: "completion <shell>",
    description: "print the completion script for a shell",
    choices: shells,
    run: completion,
  },
  { name: "complete [words...]", description: "", hidden: true, run: complete },
];

const buckets: CommandRow = {
  name: "buckets",
  description: "list, create, change and delete buckets",
  commands: [
    {
      name: "list",
      description: "list all buckets",
      isDefault: true,
      options: remoteJson,
      run: listBuckets,
    },
    {
      name: "create <name>",
      description: "create a bucket",
      options: bucketShape("default: its name"),
      notes: `\nNote: ${publicNote("SERVER/node/static/NAME/…")}.`,
      run: createBucket,
    },
    { name: "show <name>", description: "show one bucket", options: remoteJson, run: showBucket },
    {
      name: "update <name>",
      description: "change a bucket; omitted settings stay",
      options: [
        ...bucketShape("default: unchanged"),
        ["--no-root", "do not serve it at /"],
        ["--no-cors", "do not allow pages of other origins to read it"],
        ["--enable", "serve it"],
        ["--no-enable", "do not serve it over HTTP and WebDAV"],
      ],
      run: updateBucket,
    },
    {
      name: "delete <name>",
      description: "delete a bucket's record; its files stay on the disk",
      options: [...remoteJson, yes],
      run: deleteBucket,
    },
  ],
};

const tokens: CommandRow = {
  name: "tokens",
  description: "list, create, renew and delete tokens",
  commands: [
    { name: "list", description: "list all tokens", isDefault: true, options: remoteJson, run: listTokens },
    {
      name: "create",
      description: "create a token for buckets; its secret is printed only once",
      options: [
        ...remoteJson,
        ["--bucket <name>", "a bucket that it may access; repeatable", { parse: gather }],
        [
          "--allow <actions>",
          "the permitted actions: read,write,delete,list (default: read)",
          { parse: parseAllow },
        ],
        ["--webdav <bucket>", "a bucket that it may mount and push to: all four actions", { parse: gather }],
        ["--username <name>", "a user name in addition to the key"],
        ["--password", "also a password: asked for, or from NODE_SERVER_NEW_PASSWORD"],
        [
          "--expires <time>",
          "when it expires: 90m, 12h, 30d, 4w, 1y (default: never)",
          { parse: parseDuration },
        ],
      ],
      run: createToken,
    },
    { name: "delete <key>", description: "delete a token", options: [...remoteJson, yes], run: deleteToken },
    {
      name: "roll <key>",
      description: "give a token a new secret, printed only once",
      options: [...remoteJson, yes],
      run: rollToken,
    },
  ],
};

/** Commands that deploy sites and look after a server from afar. */
const deployCommands: readonly CommandRow[] = [
  {
    name: "push <dir> <bucket>",
    description: "deploy a folder to a bucket: upload what changed",
    options: [
      ...remoteJson,
      ["--delete", "also delete files that are not in the folder"],
      ["--dry-run", "show what would happen and change nothing"],
      ["--watch", "push again whenever a file changes"],
    ],
    notes: pushNotes,
    run: push,
  },
  {
    name: "pull <bucket> <dir>",
    description: "download a bucket into a folder: only what changed",
    options: [
      ...remoteJson,
      ["--delete", "also delete files that are not in the bucket"],
      ["--dry-run", "show what would happen and change nothing"],
    ],
    notes: "\nFiles and folders named .git or .DS_Store are neither downloaded nor deleted.",
    run: pull,
  },
  buckets,
  tokens,
  {
    name: "storage",
    description: "print how much disk space each table uses",
    options: remoteJson,
    run: storage,
  },
  {
    name: "status",
    description: "print the state of a server and of the token in use",
    options: remoteJson,
    run: status,
  },
];

/** Every command, in the order of the help. A command is registered here and nowhere else. */
export const commands: readonly CommandRow[] = [
  ...serverCommands,
  ...clientCommands,
  ...deployCommands,
  { name: "sql-child", description: "", hidden: true, run: sqlChild },
];
