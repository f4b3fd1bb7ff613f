import type { Command } from "commander";
import { exitCodes } from "../base/process.ts";
import type { MethodName } from "../client/index.ts";
import type { Context } from "./context.ts";
import { type Listing, printTable } from "./terminal/table.ts";

export { exitCodes, exitMeanings } from "../base/process.ts";

// A command is declared once, by `command()`, in the file that runs it; `program.ts` lists all. The help, the manual page, the
// completion and the table in docs/cli.md come from the declaration, and so do the types of what `run` is given.
//
// All declarations are loaded at each start. So a file with one imports what loads quickly, such as the client, and loads the
// server's modules, which take longer than most commands, inside of `run`.

export const programDescription = "One executable: a JSON-RPC control plane and static file buckets.";

/** CommandOptions are the options of the program itself, which every command is given. */
export interface CommandOptions {
  readonly config: string;
}

/** The configuration that is read without `--config`. */
export const defaultConfigPath = "config.toml";

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

/**
 * Outcome is what a command has for standard output at its end: with `--json` the value, else the table or the text. What people
 * should read before it has gone to standard error by then (`ctx.say`).
 */
export interface Outcome {
  readonly json?: unknown;
  readonly table?: Listing;
  /** An address or a secret, which a script can take as it is. */
  readonly text?: string;
  /** Lines for people that sum it up, after it. */
  readonly after?: readonly string[];
  /** The exit code; `done` unless it is given. */
  readonly code?: number;
}

/** What a command resolves to: its exit code alone, or its outcome, or nothing where it is done and has nothing to print. */
type Result = Promise<Outcome | number | undefined>;

/** Need is a method that a command calls, or `files`: it changes files over WebDAV, which takes all four actions. */
export type Need = MethodName | "files";

/** CommandRow is a declared command, or a group of them. */
export interface CommandRow {
  /** The name with its arguments, as commander writes them: `push <dir> <bucket>`. */
  readonly name: string;
  /** One line for the help. */
  readonly summary: string;
  readonly options?: readonly OptionRow[];
  /** The values that the first argument may have. */
  readonly choices?: readonly string[];
  /** Text after the help. */
  readonly notes?: string;
  /** What the token must be allowed to do, for a command that talks to a server. */
  readonly needs?: readonly Need[];
  /** Replaces `-h, --help` by an option of this description, which `run` is given: the command prints its help itself. */
  readonly ownHelp?: string;
  /** Runs when its group is named alone. */
  readonly isDefault?: boolean;
  /** Neither in the help nor in the completion: for programs, not for people. */
  readonly hidden?: boolean;
  /** The heading in the help of the program under which it stands. */
  readonly group?: string;
  readonly commands?: readonly CommandRow[];
  /** Runs the command; undefined for a group. `options` holds the arguments, too. */
  readonly run?: (options: never, ctx: Context, command: Command) => Result;
}

/** `server-name` as `serverName`. */
type CamelCase<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<CamelCase<B>>}` : S;
type FirstWord<S extends string> = S extends `${infer A} ${string}` ? A : S;
type LongName<F extends string> = F extends `${string}--${infer N}` ? FirstWord<N> : never;
type Negated<F extends string> = LongName<F> extends `no-${infer N}` ? CamelCase<N> : never;
type Plain<F extends string> = LongName<F> extends `no-${string}` ? never : CamelCase<LongName<F>>;

type ValueOf<R extends OptionRow> = R extends readonly [
  string,
  string,
  { readonly parse: (...given: never[]) => infer V },
]
  ? V
  : R[0] extends `${string}<${string}`
    ? string
    : boolean;

/** Options are the values of declared options, by their names in camel case. Only one with a default is always there. */
export type Options<O extends readonly OptionRow[]> = {
  readonly [R in O[number] as R[2] extends { readonly default: string } ? never : Plain<R[0]>]?: ValueOf<R>;
} & {
  readonly [R in O[number] as R[2] extends { readonly default: string } ? Plain<R[0]> : never]: ValueOf<R>;
} & {
  // Commander sets an option that only has a negative form to true.
  readonly [R in O[number] as Exclude<Negated<R[0]>, Plain<O[number][0]>>]: boolean;
};

type Words<S extends string> = S extends `${infer A} ${infer B}` ? A | Words<B> : S;

/** Arguments are the values of the arguments that a name declares. */
type Arguments<N extends string> = {
  readonly [W in Words<N> as W extends `<${infer A}...>` | `[${infer A}...]` ? A : never]: readonly string[];
} & {
  readonly [W in Words<N> as W extends `<${string}...>`
    ? never
    : W extends `<${infer A}>`
      ? A
      : never]: string;
} & {
  readonly [W in Words<N> as W extends `[${string}...]`
    ? never
    : W extends `[${infer A}]`
      ? A
      : never]?: string;
};

interface Declaration<N extends string, O extends readonly OptionRow[]>
  extends Omit<CommandRow, "name" | "options" | "run" | "commands"> {
  readonly name: N;
  readonly options?: O;
  run(options: CommandOptions & Arguments<N> & Options<O>, ctx: Context, command: Command): Result;
}

/** command declares a command; `run` is given what `name` and `options` declare. */
export function command<const N extends string, const O extends readonly OptionRow[] = readonly []>(
  declaration: Declaration<N, O>,
): CommandRow {
  return declaration;
}

/** Adds the options of rows to a command. */
export function addOptions(to: Command, rows: readonly OptionRow[]): void {
  for (const [flags, description, { default: value, parse } = {}] of rows) {
    const option = to.createOption(flags, description);
    if (value !== undefined) option.default(value);
    if (parse !== undefined) option.argParser(parse as (value: string, before: unknown) => unknown);
    to.addOption(option);
  }
}

/** The name of a row without its arguments. */
export function nameOf({ name }: Pick<CommandRow, "name">): string {
  return name.split(" ", 1)[0] ?? "";
}

/** A row as the help of the program lists it. */
export function termOf({ name, options = [] }: CommandRow): string {
  return options.length === 0 ? name : name.replace(/^\S+/, "$& [options]");
}

export interface AddOptions {
  readonly ctx: Context;
  /** Is told which command runs, before it does. */
  readonly onRun: (command: Command, row: CommandRow) => void;
  /** Receives the exit code of the command that ran. */
  readonly onExit: (code: number) => void;
  /** Puts needs into words; given if a help may be printed. */
  readonly needText: ((needs: readonly Need[]) => string) | undefined;
}

/** Adds a row by its name alone, for the list of commands: to add all options of all commands takes longer than most commands run. */
export function addName(parent: Command, { name, summary, group, hidden = false }: CommandRow): void {
  const added = parent.command(name, { hidden }).description(summary);
  if (group !== undefined) added.helpGroup(group);
}

/** Adds the command of a row, and those below it, to a commander program. */
export function addCommand(parent: Command, row: CommandRow, options: AddOptions): void {
  const { ctx, onRun, onExit, needText } = options;
  const { isDefault = false, hidden = false, ownHelp, notes, needs } = row;
  const added = parent.command(row.name, { isDefault, hidden }).description(row.summary);
  if (row.group !== undefined) added.helpGroup(row.group);
  addOptions(added, row.options ?? []);
  if (row.choices !== undefined) added.registeredArguments[0]?.choices(row.choices);
  if (ownHelp !== undefined) added.helpOption(false).option("-h, --help", ownHelp);
  if (notes !== undefined) added.addHelpText("after", notes);
  if (needs !== undefined && needText !== undefined)
    added.addHelpText("after", `\nNeeds ${needText(needs)}.`);
  for (const sub of row.commands ?? []) addCommand(added, sub, options);
  if (row.run === undefined) return;
  // Commander's values have no types; those of `run` follow from the flags that commander read.
  const run = row.run as (options: object, ctx: Context, command: Command) => Result;
  added.action(async () => {
    onRun(added, row);
    const given = added.registeredArguments.map((argument, at) => [argument.name(), added.processedArgs[at]]);
    const outcome = await run({ ...Object.fromEntries(given), ...added.optsWithGlobals() }, ctx, added);
    onExit(typeof outcome === "number" ? outcome : await printOutcome(ctx, outcome, added.opts().json));
  });
}

/** Prints an outcome and returns the exit code. */
export async function printOutcome(
  ctx: Context,
  outcome: Outcome = {},
  asJson: boolean | undefined,
): Promise<number> {
  const { table, text = "", after = [], code = exitCodes.done } = outcome;
  if (asJson && "json" in outcome) await ctx.printJson(outcome.json);
  else if (table !== undefined) await printTable(ctx, table);
  else await ctx.print(text);
  for (const line of after) ctx.say(line);
  return code;
}
