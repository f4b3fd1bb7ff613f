import { Command, CommanderError } from "commander";
import { Fault, messageOf } from "../base/fault.ts";
import { build } from "../build.ts";
import { ClientError } from "../client/index.ts";
import { exitCodes, programDescription } from "./command.ts";
import { addCommand, addOptions } from "./command-row.ts";
import { adviseHelp, helpLineAfter, refuseUnknownCommands, targetOf } from "./failed-command.ts";
import { explainFileError } from "./file-error.ts";
import { globalOptions } from "./options.ts";
import { commands } from "./program.ts";
import { explain } from "./remote/explain.ts";
import { exitCodeOf } from "./remote/remote.ts";
import { PipeClosed } from "./terminal/output.ts";
import { WrongUsage } from "./terminal/wrong-usage.ts";

/** Runs the command that `args` name and resolves to the exit code. Failures are printed, never thrown. */
export async function run(args: readonly string[]): Promise<number> {
  let code: number = exitCodes.done;
  let chosen: Command | undefined;
  const program = new Command("node-server")
    .description(programDescription)
    .version(build.cargo_version, "-V, --version", "print the version")
    .exitOverride()
    .hook("preAction", (_, command) => {
      chosen = command;
    });
  addOptions(program, globalOptions);
  for (const row of commands)
    addCommand(program, row, (exitCode) => {
      code = exitCode;
    });
  adviseHelp(program);
  refuseUnknownCommands(program);
  try {
    await program.parseAsync(withHelpOption(args), { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    if (error instanceof PipeClosed) return exitCodes.done;
    process.stderr.write(`node-server: ${await messageFor(error, chosen)}\n`);
    return exitCodeOf(error);
  }
}

/** `help call` as `call --help`: a command may print its help itself. */
function withHelpOption(args: readonly string[]): readonly string[] {
  const [first, ...command] = args;
  return first === "help" && command.length > 0 ? [...command, "--help"] : args;
}

/** A message for a failed command: what was wrong and what to do. */
async function messageFor(error: unknown, command: Command | undefined): Promise<string> {
  if (error instanceof ClientError) return explain(error, await targetOf(command));
  if (!(error instanceof Fault)) return explainFileError(error) ?? bugText(error);
  const isUsage = error instanceof WrongUsage && command !== undefined;
  const advice = isUsage ? `\n${await helpLineAfter(command)}` : "";
  return error.detail.replaceAll("\n", "\nnode-server: ") + advice;
}

function bugText(error: unknown): string {
  return `this is a bug: ${messageOf(error)}\n${(error instanceof Error && error.stack) || ""}`;
}
