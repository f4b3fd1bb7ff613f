import { Command, CommanderError, Help } from "commander";
import { Fault, messageOf } from "../base/fault.ts";
import { nearest } from "../base/validation-issue.ts";
import { build } from "../build.ts";
import { ClientError } from "../client/index.ts";
import {
  type AddOptions,
  addCommand,
  addName,
  addOptions,
  exitCodes,
  type Need,
  nameOf,
  programDescription,
  termOf,
} from "./command.ts";
import { type Context, type Output, PipeClosed } from "./context.ts";
import { errorFacts, explainFileError, WrongUsage } from "./errors.ts";
import { parseServerUrl } from "./login/known-servers.ts";
import { globalOptions } from "./options.ts";
import { commands } from "./program.ts";
import { explain } from "./remote/explain.ts";
import { exitCodeOf, fetchFor, findTarget, readCa, type Target } from "./remote/remote.ts";

/** Runs the command that `args` name and resolves to the exit code. Failures are printed, never thrown. */
export async function run(args: readonly string[], ctx: Context): Promise<number> {
  try {
    return await runCommand(args, ctx);
  } catch (error) {
    if (error instanceof PipeClosed) return exitCodes.done;
    // The help or the version could not be printed, or there was no room for a message about what failed.
    ctx.warn(`node-server: ${await messageFor(ctx, error)}`);
    return exitCodeOf(error);
  }
}

async function runCommand(args: readonly string[], ctx: Context): Promise<number> {
  let code: number = exitCodes.done;
  let chosen: Command | undefined;
  let needs: readonly Need[] = [];
  /** The help or the version, which commander prints without waiting. */
  let help = "";
  const width = ({ isTTY, columns }: Output) => (isTTY ? columns : undefined);
  const program = new Command("node-server")
    // Commands inherit this when they are added.
    .configureOutput({
      writeOut: (text) => {
        help += text;
      },
      // As all other messages begin.
      writeErr: (text) => ctx.err.write(text.replace(/^error: /, "node-server: ")),
      // Undefined means that it is not a terminal, which commander's types do not say.
      getOutHelpWidth: () => width(ctx.out) as number,
      getErrHelpWidth: () => width(ctx.err) as number,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({
      subcommandTerm: (command) => terms.get(pathOf(command)) ?? new Help().subcommandTerm(command),
    })
    .description(programDescription)
    .version(build.cargo_version, "-V, --version", "print the version")
    .exitOverride();
  addOptions(program, globalOptions);
  const options: AddOptions = {
    ctx,
    onRun(command, row) {
      chosen = command;
      needs = row.needs ?? [];
      ctx.isQuiet = program.opts().quiet === true;
    },
    onExit(exitCode) {
      code = exitCode;
    },
    needText: await needTextFor(args),
  };
  for (const row of commands)
    if (args.includes(nameOf(row))) addCommand(program, row, options);
    else addName(program, row);
  adviseHelp(program);
  refuseUnknownCommands(program);
  try {
    await program.parseAsync(serverAfterCommand(program, withHelpOption(args)), { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      await ctx.print(help);
      return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    }
    if (error instanceof PipeClosed) return exitCodes.done;
    ctx.warn(`node-server: ${await messageFor(ctx, error, chosen, needs)}`);
    if (chosen?.opts().json === true) await ctx.printJson({ error: errorFacts(error) });
    return exitCodeOf(error);
  }
}

/**
 * Moves `-s NAME` and `--ca FILE` from before the command to behind it, because they are options of the commands that talk to a server:
 * `-s web ls` and `buckets -s web list` as `ls -s web` and `buckets list -s web`.
 */
function serverAfterCommand(program: Command, args: readonly string[]): readonly string[] {
  const before = leadingOptions(args);
  const [name, ...behind] = args.slice(before.count);
  const group = program.commands.find((command) => command.name() === name);
  const between = leadingOptions(behind);
  const [sub, ...rest] = behind.slice(between.count);
  const isGroup = group?.commands.some((command) => command.name() === sub) === true;
  if (name === undefined) return args;
  return isGroup && sub !== undefined
    ? [...before.others, name, sub, ...before.server, ...between.server, ...between.others, ...rest]
    : [...before.others, name, ...before.server, ...behind];
}

/** `leadingOptions` divides the options that `args` begins with: those that name a server, and others. `count` is that of their words. */
function leadingOptions(args: readonly string[]) {
  const server: string[] = [];
  const others: string[] = [];
  let count = 0;
  for (let word = args[0]; word?.startsWith("-"); word = args[count]) {
    const isServer = /^(?:-s|--server|--ca)(?:=|$)/.test(word) || /^-s./.test(word);
    const takesNext = /^(?:-s|--server|--ca|-c|--config)$/.test(word);
    const option = args.slice(count, count + (takesNext ? 2 : 1));
    (isServer ? server : others).push(...option);
    count += option.length;
  }
  return { server, others, count };
}

/** `help call` as `call --help`: a command may print its help itself. */
function withHelpOption(args: readonly string[]): readonly string[] {
  const [first, ...command] = args;
  return first === "help" && command.length > 0 ? [...command, "--help"] : args;
}

/** Loads the words for needs if these arguments ask for the help of a command. */
async function needTextFor(args: readonly string[]): Promise<AddOptions["needText"]> {
  const isHelp = args.some((word) => ["help", "-h", "--help"].includes(word));
  if (!isHelp || !commands.some((row) => args.includes(nameOf(row)))) return undefined;
  return (await import("./tokens/permissions.ts")).needText;
}

/** A message for a failed command: what was wrong and what to do. */
async function messageFor(
  ctx: Context,
  error: unknown,
  command?: Command,
  needs: readonly Need[] = [],
): Promise<string> {
  if (error instanceof ClientError) return explain(error, await targetOf(ctx, command), needs);
  if (!(error instanceof Fault)) return explainFileError(error) ?? bugText(error);
  const isUsage = error instanceof WrongUsage && command !== undefined;
  const advice = isUsage ? `\n${await helpLineAfter(command)}` : "";
  return error.detail.replaceAll("\n", "\nnode-server: ") + advice;
}

function bugText(error: unknown): string {
  return `this is a bug: ${messageOf(error)}\n${(error instanceof Error && error.stack) || ""}`;
}

/** How the help lists each command, by its whole name. */
const terms = new Map(
  commands.flatMap((row) => [
    [nameOf(row), termOf(row)] as const,
    ...(row.commands ?? []).map((sub) => [`${nameOf(row)} ${nameOf(sub)}`, termOf(sub)] as const),
  ]),
);

/** `buckets list`: the name of a command after those of the groups that it is in. */
function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent == null ? command.name() : `${parent.name()} ${command.name()}`;
}

/** A line that names the help of a command. The help itself is not printed, because the error above it would scroll away. */
function helpLine(command: Command, ...more: string[]): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return `see \`${[...names, ...more].join(" ")} --help\``;
}

/** The same line after a command has failed: a method has a help of its own. */
async function helpLineAfter(command: Command): Promise<string> {
  const [method = ""] = command.args;
  const isMethod =
    command.name() === "call" && (await import("./call/declaration.ts")).methodNames.includes(method);
  return helpLine(command, ...(isMethod ? [method] : []));
}

/** Adds the line of `helpLine` to every message about wrong usage that commander prints. */
function adviseHelp(command: Command): void {
  command.showHelpAfterError(helpLine(command));
  for (const sub of command.commands) adviseHelp(sub);
}

/**
 * Treats an argument of a group's default command as a misspelt command: for `buckets lst`, commander would say that `list` has
 * too many arguments.
 */
function refuseUnknownCommands(command: Command): void {
  for (const sub of command.commands) refuseUnknownCommands(sub);
  for (const sub of command.commands.filter((other) => other.name() === defaultName)) {
    if (sub.registeredArguments.length > 0) continue;
    sub.allowExcessArguments().hook("preAction", () => {
      const [word] = sub.args;
      if (word === undefined) return;
      if (command.args[0] === sub.name())
        return command.error(`error: too many arguments for '${sub.name()}': it takes none`);
      const [near] = nearest(
        word,
        command.commands.map((other) => other.name()),
        1,
      );
      command.error(`error: unknown command '${word}'${near === undefined ? "" : `; did you mean ${near}?`}`);
    });
  }
}

/** The name of the command that a group runs when none is named. */
const defaultName = "list";

/** Finds the server that a failed command talked to. */
async function targetOf(
  ctx: Context,
  command: Command | undefined,
): Promise<Pick<Target, "url" | "fetch"> | undefined> {
  if (command === undefined) return undefined;
  const { server, ca } = command.opts<{ server?: string; ca?: string }>();
  if (command.name() !== "login") return findTarget(ctx, { ...(server && { server }), ...(ca && { ca }) });
  const [address = ""] = command.args;
  const url = parseServerUrl(ctx, address);
  return { url, fetch: fetchFor(url, ca === undefined ? undefined : readCa(ctx, ca)) };
}
