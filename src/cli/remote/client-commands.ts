import { Argument, type Command } from "commander";
import { call, showMethod } from "../call/call.ts";
import { methodList } from "../call/call-help.ts";
import { complete } from "../call/complete.ts";
import { completion, type Shell, shells } from "../call/completion.ts";
import { exitCodes } from "../command.ts";
import { logs } from "../logs/logs.ts";
import { sql } from "../sql/sql.ts";
import { print } from "../terminal/output.ts";
import { chooseServer, listServers } from "./known.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { serverOptions } from "./server-options.ts";

type Ended = (code: number) => void;

const callNotes = `
Params are one JSON object, or key=value: a value is read as JSON where the param is not a text, and
key=@file takes it from a file (@- from standard input). The token is added.
\`node-server call METHOD --help\` tells about one method.
`;

/** The commands that make the binary a client: whom to talk to, calls, the log, SQL. */
export function addClientCommands(program: Command, ended: Ended): void {
  addServers(program, ended);
  addCall(program, ended);
  serverOptions(program.command("logs"))
    .description("show the log entries that a server keeps in memory")
    .option("-f, --follow", "go on with those that come; Ctrl+C ends it")
    .option("--filter <filter>", "as RUST_LOG: info, debug,db=trace, token (default with -f: info)")
    .option("--json", "one JSON object a line")
    .action(async (options) => ended(await logs(options)));
  serverOptions(program.command("sql [statement]"))
    .description("run SQL on a server's database; without a statement, ask for one after the other")
    .option("-f, --file <file>", "take the statements from a file (- is standard input)")
    .option("--param <value>", "a value for the next placeholder, as JSON or text; repeatable", gather)
    .option("--csv", "print CSV (RFC 4180)")
    .option("--json", "print JSON")
    .addHelpText("after", "\nOf several statements all are run, and the result of the last one is shown.")
    .action(async (statement: string | undefined, options) => ended(await sql(statement, options)));
  addCompletion(program, ended);
}

function addServers(program: Command, ended: Ended): void {
  program
    .command("login <url>")
    .description("keep a server and a token for it, and use it from now on")
    .option("--name <name>", "what to call it (default: from the address)")
    .option(
      "--ca <file>",
      "trust the certificates in this file (PEM) for the server's own; kept with the login",
    )
    .action(async (url: string, options) => ended(await login(url, options)));
  program
    .command("logout [name]")
    .description("forget a server and its token (default: the one in use)")
    .action(async (name: string | undefined) => ended(await logout(name)));
  const servers = program.command("servers").description("list the servers that are known; * is in use");
  servers
    .command("list", { isDefault: true })
    .description("list them")
    .option("--json", "print JSON")
    .action(async (options) => ended(await listServers(options)));
  servers
    .command("use <name>")
    .description("use this one from now on")
    .action(async (name: string) => ended(await chooseServer(name)));
}

function addCall(program: Command, ended: Ended): void {
  const command = serverOptions(program.command("call [method] [params...]"))
    .description("call any method of a server")
    .option("--json", "print JSON on a terminal too")
    // Its own, because help about a method is meant as well.
    .helpOption(false)
    .option("-h, --help", "tell about this command, or about METHOD");
  command.addHelpText("after", () => `${callNotes}\n${methodList()}`);
  command.action(async (method: string | undefined, params: string[], options) => {
    if (method === undefined && !options.help)
      return command.error("error: missing required argument 'method'");
    if (method !== undefined)
      return ended(await (options.help ? showMethod(method, options) : call(method, params, options)));
    await print(`${command.helpInformation()}${callNotes}\n${methodList()}`);
    ended(exitCodes.done);
  });
}

function addCompletion(program: Command, ended: Ended): void {
  program
    .command("completion")
    .description("print a script that teaches a shell to complete this program's words")
    .addArgument(new Argument("<shell>").choices(shells))
    .action(async (shell: Shell) => ended(await completion(shell)));
  program
    .command("complete [words...]", { hidden: true })
    .action(async (words: string[]) => ended(await complete(program, words)));
}

function gather(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
