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
        ["--user <user>", "the account that the server runs as (default: the one that called sudo)"],
        ["--print", "show the unit file and change nothing"],
        ["--no-start", "write the unit file, but tell systemd nothing"],
      ],
      run: installService,
    },
    {
      name: "uninstall",
      description: "stop it and remove the unit file",
      options: [...unit, ["--no-start", "remove the unit file, but tell systemd nothing"]],
      run: uninstallService,
    },
  ],
};

/** Commands of the machine that the server runs on. */
const serverCommands: readonly CommandRow[] = [
  {
    name: "serve",
    description: "run the server; makes the configuration and the database when they are missing",
    run: serve,
  },
  {
    name: "init",
    description: "make the configuration, the database and the Super Token, show its credentials, exit",
    options: [
      ["--listen <address>", "ws_listener of the configuration that is written, such as 0.0.0.0:2211"],
    ],
    run: init,
  },
  {
    name: "roll-super-token",
    description: "give the Super Token new credentials; the old ones end at once",
    options: [yes],
    run: rollSuper,
  },
  { name: "get-uuid", description: "print the server's UUID", run: getUuid },
  {
    name: "check",
    description: "say what is wrong with the configuration and the files it names, with line and column",
    options: [["--connect", "also connect to the database"]],
    run: check,
  },
  {
    name: "version",
    description: "print what was built",
    options: [["--json", "the whole record"]],
    run: version,
  },
  {
    name: "update",
    description: "update to a release: the running server, or the binary when none runs",
    options: [["--tag <tag>", "the version, as vX.Y.Z (default: the newest release)"]],
    run: update,
  },
  service,
  {
    name: "release-server <folder>",
    description: "serve a folder of releases to servers that update themselves",
    options: [["--listen <address>", "where to listen", { default: "127.0.0.1:2212" }]],
    run: releaseServer,
  },
];

/** Commands that make the binary a client: whom to talk to, calls, the log, SQL. */
const clientCommands: readonly CommandRow[] = [
  {
    name: "login <url>",
    description: "keep a server and a token for it, and use it from now on",
    options: [
      ["--name <name>", "what to call it (default: from the address)"],
      ["--ca <file>", "trust the certificates in this file (PEM) for the server's own; kept with the login"],
    ],
    run: login,
  },
  {
    name: "logout [name]",
    description: "forget a server and its token (default: the one in use)",
    run: logout,
  },
  {
    name: "servers",
    description: "list the servers that are known; * is in use",
    commands: [
      { name: "list", description: "list them", isDefault: true, options: [json], run: listServers },
      { name: "use <name>", description: "use this one from now on", run: chooseServer },
    ],
  },
  {
    name: "call [method] [params...]",
    description: "call any method of a server",
    options: [...remote, ["--json", "print JSON on a terminal too"]],
    ownHelp: "tell about this command, or about METHOD",
    notes: callNotes,
    run: call,
  },
  {
    name: "logs",
    description: "show the log entries that a server keeps in memory",
    options: [
      ...remote,
      ["-f, --follow", "go on with those that come; Ctrl+C ends it"],
      ["--filter <filter>", "as RUST_LOG: info, debug,db=trace, token (default with -f: info)"],
      ["--json", "one JSON object a line"],
    ],
    run: logs,
  },
  {
    name: "sql [statement]",
    description: "run SQL on a server's database; without a statement, ask for one after the other",
    options: [
      ...remote,
      ["-f, --file <file>", "take the statements from a file (- is standard input)"],
      ["--param <value>", "a value for the next placeholder, as JSON or text; repeatable", { parse: gather }],
      ["--csv", "print CSV (RFC 4180)"],
      json,
    ],
    notes: "\nOf several statements all are run, and the result of the last one is shown.",
    run: sql,
  },
  {
    name: "completion <shell>",
    description: "print a script that teaches a shell to complete this program's words",
    choices: shells,
    run: completion,
  },
  { name: "complete [words...]", description: "", hidden: true, run: complete },
];

const buckets: CommandRow = {
  name: "buckets",
  description: "list, make, change and forget buckets",
  commands: [
    {
      name: "list",
      description: "list every bucket",
      isDefault: true,
      options: remoteJson,
      run: listBuckets,
    },
    {
      name: "create <name>",
      description: "make a bucket",
      options: bucketShape("default: its name"),
      notes: `\nNote: ${publicNote("SERVER/node/static/NAME/…")}.`,
      run: createBucket,
    },
    { name: "show <name>", description: "show one bucket", options: remoteJson, run: showBucket },
    {
      name: "update <name>",
      description: "change a bucket; what is not named stays",
      options: [
        ...bucketShape("left out: stays as it is"),
        ["--no-root", "serve it at / no more"],
        ["--no-cors", "do not let pages of other origins read it"],
        ["--enable", "serve it"],
        ["--no-enable", "serve it no more, by HTTP and WebDAV"],
      ],
      run: updateBucket,
    },
    {
      name: "delete <name>",
      description: "forget a bucket; its files stay on the disk",
      options: [...remoteJson, yes],
      run: deleteBucket,
    },
  ],
};

const tokens: CommandRow = {
  name: "tokens",
  description: "list, make, renew and end tokens",
  commands: [
    { name: "list", description: "list every token", isDefault: true, options: remoteJson, run: listTokens },
    {
      name: "create",
      description: "make a token for buckets; its secret is shown this once",
      options: [
        ...remoteJson,
        ["--bucket <name>", "a bucket it is for; may be given several times", { parse: gather }],
        [
          "--allow <actions>",
          "what it may do there: read,write,delete,list (default: read)",
          { parse: parseAllow },
        ],
        ["--webdav <bucket>", "a bucket that it may mount and push to: all four", { parse: gather }],
        ["--username <name>", "a user name beside the key"],
        ["--password", "also a password: asked for, or taken from NODE_SERVER_NEW_PASSWORD"],
        [
          "--expires <time>",
          "when it ends: 90m, 12h, 30d, 4w, 1y (default: never)",
          { parse: parseDuration },
        ],
      ],
      run: createToken,
    },
    { name: "delete <key>", description: "end a token", options: [...remoteJson, yes], run: deleteToken },
    {
      name: "roll <key>",
      description: "give a token a new secret, shown this once",
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
      ["--delete", "also delete what the folder does not hold"],
      ["--dry-run", "show what would happen and change nothing"],
      ["--watch", "go on pushing whenever something changes"],
    ],
    notes: pushNotes,
    run: push,
  },
  {
    name: "pull <bucket> <dir>",
    description: "fetch a bucket into a folder: download what changed",
    options: [
      ...remoteJson,
      ["--delete", "also delete what the bucket does not hold"],
      ["--dry-run", "show what would happen and change nothing"],
    ],
    notes: "\nNothing called .git or .DS_Store is fetched or deleted.",
    run: pull,
  },
  buckets,
  tokens,
  { name: "storage", description: "tell how much room each table takes", options: remoteJson, run: storage },
  {
    name: "status",
    description: "tell how a server is, and whose token is used",
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
