import type { Command, Option } from "commander";
import { findMethod, methodNames, paramsOf } from "../call/declaration.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { readServers } from "../login/known-servers.ts";
import { remote } from "../options.ts";
import type { RemoteOptions } from "../remote/remote.ts";
import { fileActions, nodeActions } from "../tokens/tokens.ts";
import { type Candidate, isRemoteKind, type RemoteKind, remoteNames } from "./remote-names.ts";

/** Prints the words that may replace the last of `typed`, one a line, with a description after a tab. For the scripts of shells. */
export async function complete(
  { typed }: { readonly typed: readonly string[] },
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
  const typed = readWords(program, before);
  const { command, args, waiting } = typed;
  if (waiting !== undefined) return valuesOf(ctx, waiting, { ...typed, beginning });
  const [, long, value = ""] = /^(--[^=]+)=(.*)$/s.exec(beginning) ?? [];
  const given = optionsFor(program, command).find((option) => option.required && option.long === long);
  if (given !== undefined)
    return (await valuesOf(ctx, given, { ...typed, beginning: value })).map(({ word, description }) => ({
      word: `${long}=${word}`,
      description,
    }));
  if (beginning.startsWith("-")) return optionsOf(command);
  const commands = command.commands.filter((sub) => !isHidden(sub));
  if (commands.length > 0 && args.length === 0) {
    const help = command === program ? [{ word: "help", description: "show help for a command" }] : [];
    return [...commands.map((sub) => ({ word: sub.name(), description: sub.description() })), ...help];
  }
  return argumentsOf(ctx, program, { ...typed, beginning });
}

/** CommandLine is what was typed up to the word that is being completed. */
interface CommandLine {
  readonly command: Command;
  readonly args: readonly string[];
  /** Which server the command would talk to. */
  readonly options: RemoteOptions;
  readonly beginning: string;
}

/** Finds the command that the words so far name, its arguments, and an option that waits for its value. */
function readWords(program: Command, before: readonly string[]) {
  let command = program;
  const args: string[] = [];
  const options: Record<string, string> = {};
  let waiting: Option | undefined;
  for (const word of before) {
    if (waiting !== undefined) {
      options[waiting.attributeName()] = word;
      waiting = undefined;
      continue;
    }
    if (word.startsWith("-") && word !== "-") {
      const [, name = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
      // Before the command, too: `-s web ls`.
      const option = [...optionsFor(program, command), ...remoteOptions(program)].find(
        ({ short, long }) => name === short || name === long,
      );
      if (option?.required && value !== undefined) options[option.attributeName()] = value;
      else waiting = option?.required ? option : undefined;
      continue;
    }
    const sub = args.length === 0 ? command.commands.find((other) => other.name() === word) : undefined;
    if (sub === undefined) args.push(word);
    else command = sub;
  }
  return { command, args, options, waiting };
}

function optionsFor(program: Command, command: Command): readonly Option[] {
  return [...command.options, ...program.options];
}

function remoteOptions(program: Command): readonly Option[] {
  return remote.map(([flags]) => program.createOption(flags));
}

/** Completes the value of an option. */
async function valuesOf(ctx: Context, { long, flags }: Option, typed: CommandLine): Promise<Candidate[]> {
  switch (long) {
    case "--server":
      return serverNames(ctx);
    case "--allow":
      return listOf(fileActions, typed.beginning);
    case "--node":
      return listOf(nodeActions, typed.beginning);
    case "--bucket":
      return remoteNames(ctx, "bucket", typed);
  }
  const name = /<(.+)>/.exec(flags)?.[1] ?? "";
  if (name === "server") return serverNames(ctx);
  return isRemoteKind(name) ? remoteNames(ctx, name, typed) : [];
}

/** Completes the last word of a list such as `read,write`. */
function listOf(choices: readonly string[], beginning: string): Candidate[] {
  const before = beginning.slice(0, beginning.lastIndexOf(",") + 1);
  const given = before.split(",");
  return choices
    .filter((word) => !given.includes(word))
    .map((word) => ({ word: before + word, description: "" }));
}

async function argumentsOf(ctx: Context, program: Command, typed: CommandLine): Promise<Candidate[]> {
  const { command, args } = typed;
  const path =
    command.parent === program || command === program
      ? command.name()
      : `${command.parent?.name()} ${command.name()}`;
  if (path === "call") return args.length === 0 ? methodCandidates() : paramCandidates(args);
  if (args.length === 0 && (path === "logout" || path === "servers use")) return serverNames(ctx);
  const all = command.registeredArguments;
  const argument = all[args.length] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
  if (argument === undefined) return [];
  if (argument.argChoices !== undefined)
    return argument.argChoices.map((word) => ({ word, description: "" }));
  if (path.startsWith("buckets ") && path !== "buckets create" && args.length === 0)
    return remoteNames(ctx, "bucket", typed);
  return isRemoteKind(argument.name()) ? remoteNames(ctx, argument.name() as RemoteKind, typed) : [];
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
