import { buckets } from "./buckets/buckets.ts";
import { type CommandRow, command } from "./command.ts";
import { completion } from "./completion/completion.ts";
import { cat } from "./files/cat.ts";
import { cp, mv } from "./files/cp.ts";
import { link, links, rollLinkSecret } from "./files/links.ts";
import { ls } from "./files/ls.ts";
import { rm } from "./files/rm.ts";
import { login, logout, servers } from "./login/login.ts";
import { nodes } from "./nodes/nodes.ts";
import { allowHttp, gather, json, parseCount, parseDuration, remote, remoteJson } from "./options.ts";
import { childCommands, serverCommands, version } from "./server/commands.ts";
import { checkSiteCommand } from "./sites/check-site.ts";
import { deploy } from "./sites/deploy.ts";
import { deploys, rollback } from "./sites/deploys.ts";
import { dev } from "./sites/dev.ts";
import { pull } from "./sites/pull.ts";
import { push } from "./sites/push.ts";
import { watch } from "./sites/watch.ts";
import { certs } from "./status/certs.ts";
import { hooks } from "./status/hooks.ts";
import { storage } from "./status/storage.ts";
import { tokens } from "./tokens/tokens.ts";

// Commands whose code takes long to load are declared here, all others in the file that runs them.

const call = command({
  name: "call [method] [params...]",
  summary: "call any method of a server",
  options: [...remote, ["--json", "print JSON even on a terminal"]],
  ownHelp: "show help for this command, or for METHOD",
  run: async (options, ctx, command) => (await import("./call/call.ts")).call(options, ctx, command),
});

const logs = command({
  name: "logs",
  summary: "print the log entries that a server keeps in memory",
  needs: ["log_list"],
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
  run: async (options, ctx) => (await import("./logs/logs.ts")).logs(options, ctx),
});

const activity = command({
  name: "activity",
  summary: "print who changed what, from the audit trail of a server",
  needs: ["audit_list"],
  options: [
    ...remote,
    ["-n, --lines <number>", "print only the last entries, this many (default: 100)", { parse: parseCount }],
    ["--all", "print all entries that the server keeps"],
    ["--since <time>", "print only entries of the last 90m, 12h, 7d, …", { parse: parseDuration }],
    ["--bucket <name>", "print only changes of this bucket and its deploys"],
    [
      "--by <token>",
      "print only what this token did, by its key or user name; repeatable",
      { parse: gather },
    ],
    [
      "--event <code>",
      "print only these events, such as file.written, or file for all of files; repeatable",
      { parse: gather },
    ],
    ["--csv", "print CSV (RFC 4180)"],
    ["--json", "print one JSON object per line"],
  ],
  run: async (options, ctx) => (await import("./logs/activity.ts")).activity(options, ctx),
});

const sql = command({
  name: "sql [statement]",
  summary: "run SQL on a server's database; without a statement, read statements from the terminal",
  needs: ["node-server_exec_sql"],
  options: [
    ...remote,
    ["-f, --file <file>", "read the statements from a file (- is standard input)"],
    ["--param <value>", "a value for the next placeholder, as JSON or text; repeatable", { parse: gather }],
    ["--csv", "print CSV (RFC 4180)"],
    json,
  ],
  notes:
    "\nRuns all statements and prints the result of the last one. Instead of statements, \\dt lists the\ntables and \\d TABLE shows the columns and indexes of one; \\? helps.",
  run: async (options, ctx) => (await import("./sql/sql.ts")).sql(options, ctx),
});

const man = command({
  name: "man",
  summary: "print the manual page, node-server(1)",
  run: async () => ({ text: (await import("./man-page.ts")).manPage(commands) }),
});

const complete = command({
  name: "complete [typed...]",
  summary: "",
  hidden: true,
  run: async (options, ctx, command) =>
    (await import("./completion/complete.ts")).complete(options, ctx, command),
});

const status = command({
  name: "status",
  summary: "print the state of a server and of the token in use",
  needs: ["token_get"],
  options: remoteJson,
  run: async (options, ctx) => (await import("./status/status.ts")).status(options, ctx),
});

/** The headings of the help, with their commands. A command is registered here and nowhere else. */
const groups: Readonly<Record<string, readonly CommandRow[]>> = {
  "Sites and files:": [
    ...[deploy, rollback, deploys, dev, push, pull, watch, checkSiteCommand],
    ...[ls, cat, cp, mv, rm],
    ...[link, links, rollLinkSecret, buckets],
  ],
  "Servers:": [
    ...[login, logout, servers, status, nodes, certs, hooks, logs, activity],
    ...[sql, storage, tokens, call],
  ],
  "Run a server on this machine:": serverCommands,
  "About this program:": [version, completion, man],
};

/** Every command, in the order of the help. */
export const commands: readonly CommandRow[] = [
  ...Object.entries(groups).flatMap(([group, rows]) => rows.map((row) => ({ ...row, group }))),
  ...[complete, ...childCommands],
];
