import type { Command } from "commander";
import type { Context } from "./context.ts";

/** OptionRow declares one option: its flags as commander writes them, and its description in the help. */
export type OptionRow = readonly [
  flags: string,
  description: string,
  more?: {
    readonly default?: string;
    /** Reads a value; `before` is the result for the previous one, where the option may be given several times. */
    readonly parse?: (value: string, before: never) => unknown;
  },
];

/** CommandRow declares one command, or a group of them. */
export interface CommandRow {
  /** The name with its arguments, as commander writes them: `push <dir> <bucket>`. */
  readonly name: string;
  readonly description: string;
  readonly options?: readonly OptionRow[];
  /** The values that the first argument may have. */
  readonly choices?: readonly string[];
  /** Text after the help. */
  readonly notes?: string | (() => string);
  /** Replaces `-h, --help` by an option of this description, which `run` is given: the command prints its help itself. */
  readonly ownHelp?: string;
  /** Runs when its group is named alone. */
  readonly isDefault?: boolean;
  /** Neither in the help nor in the completion: for programs, not for people. */
  readonly hidden?: boolean;
  /** The heading in the help of the program under which it stands. */
  readonly group?: string;
  readonly commands?: readonly CommandRow[];
  /**
   * Loads the function that runs the command. It takes the arguments, the options (those of the program included), the context and
   * the command of commander, and resolves to the exit code. The code of a command is loaded when it runs, because loading the server takes longer than most
   * commands.
   */
  readonly load?: () => Promise<(...given: never[]) => Promise<number>>;
}

/** Adds the options of rows to a command. */
export function addOptions(command: Command, rows: readonly OptionRow[]): void {
  for (const [flags, description, { default: value, parse } = {}] of rows) {
    const option = command.createOption(flags, description);
    if (value !== undefined) option.default(value);
    if (parse !== undefined) option.argParser(parse as (value: string, before: unknown) => unknown);
    command.addOption(option);
  }
}

/** Adds the command of a row, and those below it, to a commander program. `onExit` receives the exit code of the one that ran. */
export function addCommand(
  parent: Command,
  row: CommandRow,
  { ctx, onExit }: { readonly ctx: Context; readonly onExit: (code: number) => void },
): void {
  const { isDefault = false, hidden = false, load, ownHelp, notes } = row;
  const command = parent.command(row.name, { isDefault, hidden }).description(row.description);
  if (row.group !== undefined) command.helpGroup(row.group);
  addOptions(command, row.options ?? []);
  if (row.choices !== undefined) command.registeredArguments[0]?.choices(row.choices);
  if (ownHelp !== undefined) command.helpOption(false).option("-h, --help", ownHelp);
  if (notes !== undefined) command.addHelpText("after", typeof notes === "string" ? () => notes : notes);
  for (const sub of row.commands ?? []) addCommand(command, sub, { ctx, onExit });
  if (load === undefined) return;
  command.action(async (...given: unknown[]) => {
    // Commander hands over values whose types it does not know; each command names its own.
    const run = (await load()) as (...given: unknown[]) => Promise<number>;
    const args = given.slice(0, -2);
    onExit(await run(...args, command.optsWithGlobals(), ctx, command));
  });
}
