import { Command, CommanderError } from "commander";
import { Fault, messageOf } from "../base/fault.ts";
import { build } from "../build.ts";
import { ClientError } from "../client/index.ts";
import { exitCodes, programDescription } from "./command.ts";
import { addCommand, addOptions } from "./command-row.ts";
import { type Context, type Output, PipeClosed } from "./context.ts";
import { errorFacts } from "./error-facts.ts";
import { adviseHelp, helpLineAfter, refuseUnknownCommands, targetOf } from "./failed-command.ts";
import { explainFileError } from "./file-error.ts";
import { globalOptions } from "./options.ts";
import { commands } from "./program.ts";
import { explain } from "./remote/explain.ts";
import { exitCodeOf } from "./remote/remote.ts";
import { WrongUsage } from "./terminal/wrong-usage.ts";

/** Runs the command that `args` name and resolves to the exit code. Failures are printed, never thrown. */
export async function run(args: readonly string[], ctx: Context): Promise<number> {
  try {
    return await runCommand(args, ctx);
  } catch (error) {
    if (error instanceof PipeClosed) return exitCodes.done;
    // The help or the version could not be printed, or there was no room for a message about what failed.
    ctx.say(`node-server: ${await messageFor(ctx, error, undefined)}`);
    return exitCodeOf(error);
  }
}

async function runCommand(args: readonly string[], ctx: Context): Promise<number> {
  let code: number = exitCodes.done;
  let chosen: Command | undefined;
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
    .description(programDescription)
    .version(build.cargo_version, "-V, --version", "print the version")
    .exitOverride()
    .hook("preAction", (_, command) => {
      chosen = command;
    });
  addOptions(program, globalOptions);
  for (const row of commands)
    addCommand(program, row, {
      ctx,
      onExit: (exitCode) => {
        code = exitCode;
      },
    });
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
    ctx.say(`node-server: ${await messageFor(ctx, error, chosen)}`);
    if (chosen?.opts().json === true) await ctx.print(`${JSON.stringify({ error: errorFacts(error) })}\n`);
    return exitCodeOf(error);
  }
}

/**
 * Moves `-s NAME` and `--ca FILE` from before the command to behind it, because they are options of the commands that talk to a server:
 * `-s web ls` as `ls -s web`.
 */
function serverAfterCommand(program: Command, args: readonly string[]): readonly string[] {
  const moved: string[] = [];
  const before: string[] = [];
  let at = 0;
  for (let word = args[at]; word?.startsWith("-"); word = args[at]) {
    const isServer = /^(?:-s|--server|--ca)(?:=|$)/.test(word) || /^-s./.test(word);
    const takesNext = /^(?:-s|--server|--ca|-c|--config)$/.test(word);
    const option = args.slice(at, at + (takesNext ? 2 : 1));
    (isServer ? moved : before).push(...option);
    at += option.length;
  }
  if (moved.length === 0) return args;
  const group = program.commands.find((command) => command.name() === args[at]);
  const isGroup = group?.commands.some((sub) => sub.name() === args[at + 1]) === true;
  const end = at + (isGroup ? 2 : 1);
  return [...before, ...args.slice(at, end), ...moved, ...args.slice(end)];
}

/** `help call` as `call --help`: a command may print its help itself. */
function withHelpOption(args: readonly string[]): readonly string[] {
  const [first, ...command] = args;
  return first === "help" && command.length > 0 ? [...command, "--help"] : args;
}

/** A message for a failed command: what was wrong and what to do. */
async function messageFor(ctx: Context, error: unknown, command: Command | undefined): Promise<string> {
  if (error instanceof ClientError) return explain(error, await targetOf(ctx, command));
  if (!(error instanceof Fault)) return explainFileError(error) ?? bugText(error);
  const isUsage = error instanceof WrongUsage && command !== undefined;
  const advice = isUsage ? `\n${await helpLineAfter(command)}` : "";
  return error.detail.replaceAll("\n", "\nnode-server: ") + advice;
}

function bugText(error: unknown): string {
  return `this is a bug: ${messageOf(error)}\n${(error instanceof Error && error.stack) || ""}`;
}
