import type { Command, Option } from "commander";
import { findMethod, methodNames, paramsOf } from "../call/declared.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { readServers } from "../login/known-servers.ts";

/** Candidate is a word that may be typed next. One that ends with `=` takes a value right after it. */
interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Prints the words that may replace the last of `typed`, one a line, with a description after a tab. For the scripts of shells. */
export async function complete(
  typed: readonly string[],
  _: unknown,
  ctx: Context,
  command: Command,
): Promise<number> {
  const program = command.parent ?? command;
  const beginning = typed.at(-1) ?? "";
  const found = await candidates(ctx, program, typed.slice(0, -1), beginning);
  const lines = found
    .filter(({ word }) => word.startsWith(beginning))
    .map(({ word, description }) => `${word}\t${description}\n`);
  await ctx.print(lines.join(""));
  return exitCodes.done;
}

async function candidates(
  ctx: Context,
  program: Command,
  before: readonly string[],
  beginning: string,
): Promise<Candidate[]> {
  const { command, args, waiting } = readWords(program, before);
  if (waiting !== undefined) return waiting.long === "--server" ? serverNames(ctx) : [];
  if (beginning.startsWith("--server="))
    return (await serverNames(ctx)).map(({ word, description }) => ({
      word: `--server=${word}`,
      description,
    }));
  if (beginning.startsWith("-")) return optionsOf(command);
  const commands = command.commands.filter((sub) => !isHidden(sub));
  if (commands.length > 0 && args.length === 0) {
    const help = command === program ? [{ word: "help", description: "show help for a command" }] : [];
    return [...commands.map((sub) => ({ word: sub.name(), description: sub.description() })), ...help];
  }
  return argumentsOf(ctx, program, command, args);
}

/** Finds the command that the words so far name, its arguments, and an option that waits for its value. */
function readWords(program: Command, before: readonly string[]) {
  let command = program;
  const args: string[] = [];
  let waiting: Option | undefined;
  for (const word of before) {
    if (waiting !== undefined) {
      waiting = undefined;
      continue;
    }
    if (word.startsWith("-") && word !== "-") {
      const option = [...command.options, ...program.options].find(
        ({ short, long }) => word === short || word === long,
      );
      waiting = option?.required ? option : undefined;
      continue;
    }
    const sub = args.length === 0 ? command.commands.find((other) => other.name() === word) : undefined;
    if (sub === undefined) args.push(word);
    else command = sub;
  }
  return { command, args, waiting };
}

async function argumentsOf(
  ctx: Context,
  program: Command,
  command: Command,
  args: readonly string[],
): Promise<Candidate[]> {
  const path =
    command.parent === program || command === program
      ? command.name()
      : `${command.parent?.name()} ${command.name()}`;
  if (path === "call") return args.length === 0 ? methodCandidates() : paramCandidates(args);
  if (args.length > 0) return [];
  if (path === "logout" || path === "servers use") return serverNames(ctx);
  return (command.registeredArguments[0]?.argChoices ?? []).map((word) => ({ word, description: "" }));
}

function methodCandidates(): Candidate[] {
  return methodNames.map((word) => ({
    word,
    description: findMethod(word).doc.split(/(?<=\.) /, 1)[0] ?? "",
  }));
}

function paramCandidates([method = "", ...given]: readonly string[]): Candidate[] {
  if (!methodNames.includes(method)) return [];
  return paramsOf(method)
    .filter(({ name }) => !given.some((word) => word.startsWith(`${name}=`)))
    .map(({ name, description }) => ({ word: `${name}=`, description }));
}

async function serverNames(ctx: Context): Promise<Candidate[]> {
  const { servers } = await readServers(ctx).catch(() => ({ servers: {} }));
  return Object.entries(servers).map(([word, { url }]) => ({ word, description: url }));
}

function optionsOf(command: Command): Candidate[] {
  const help = { word: "--help", description: "show help for this command" };
  const all: Command[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) all.push(at);
  const options = all
    .flatMap(({ options }) => options)
    .filter(({ hidden, long }) => !hidden && long !== "--help");
  return [
    ...options.map(({ long, short, description }) => ({ word: long ?? short ?? "", description })),
    help,
  ];
}

/** Reads a private field: commander has no method for it. */
function isHidden(command: Command): boolean {
  return "_hidden" in command && command._hidden === true;
}
