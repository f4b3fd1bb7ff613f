import type { Command, Option } from "commander";
import { atMost } from "../../base/clock.ts";
import { visible } from "../../base/visible-text.ts";
import type { NodeServerClient } from "../../client/index.ts";
import { openBuckets } from "../buckets/open-buckets.ts";
import { findMethod, methodNames, paramsOf } from "../call/declaration.ts";
import type { Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { readServers } from "../login/known-servers.ts";
import { remote } from "../options.ts";
import { clientFor, findTarget, type RemoteOptions } from "../remote/remote.ts";
import { fileActions, nodeActions } from "../tokens/tokens.ts";
import { BucketReader } from "../transfer/remote-tree.ts";

/** Candidate is a word that may be typed next. One that ends with `=` takes a value right after it, one that ends with `/` a name. */
interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Somebody waits for the prompt. */
const maxMs = 1500;

/** Kinds are the names that the server knows, by the name of the argument or option value in the help. */
const kinds = {
  bucket: bucketNames,
  site: bucketNames,
  deploy: deploys,
  key: tokenKeys,
  place: completeLocations,
  places: completeLocations,
  files: completeLocations,
  from: completeLocations,
  to: completeLocations,
} satisfies Readonly<Record<string, List>>;

type RemoteKind = keyof typeof kinds;

interface NameQuery {
  readonly client: NodeServerClient;
  readonly signal: AbortSignal;
  /** The arguments before the word. */
  readonly args: readonly string[];
  readonly beginning: string;
}

type List = (query: NameQuery) => Promise<Candidate[]>;

function isRemoteKind(name: string): name is RemoteKind {
  return Object.hasOwn(kinds, name);
}

/**
 * `remoteNames` asks the server that the command would ask, with its token. Nothing is offered, and nothing is said, when the server is
 * slow or away or refuses: the command itself will say so.
 */
async function remoteNames(
  ctx: Context,
  kind: RemoteKind,
  { options, ...typed }: Pick<NameQuery, "args" | "beginning"> & { readonly options: RemoteOptions },
): Promise<Candidate[]> {
  const stop = new AbortController();
  const ask = async (): Promise<Candidate[]> => {
    const target = await findTarget(ctx, options);
    if (target.token === undefined) return [];
    const client = clientFor(target);
    return kinds[kind]({ ...typed, client, signal: stop.signal });
  };
  const found = await atMost(
    ask().catch(() => []),
    { ms: maxMs, late: [], clock: ctx.clock },
  );
  stop.abort();
  // A word becomes a part of a command line; no shell can quote a line break in the same way as another.
  return found
    .filter(({ word }) => visible(word) === word && !word.startsWith("-"))
    .map(({ word, description }) => ({ word, description: visible(description) }));
}

async function bucketNames({ client }: NameQuery): Promise<Candidate[]> {
  const { names } = await openBuckets(client);
  return names.filter(isPlain).map((word) => ({ word, description: "bucket" }));
}

async function deploys({ client, args: [name = ""] }: NameQuery): Promise<Candidate[]> {
  const found = await client.call("static-bucket_deploy_list", { name });
  return found
    .filter(({ deploy }) => isPlain(deploy))
    .map(({ deploy, state, made_at, note }) => ({
      word: deploy,
      description: [state, new Date(made_at).toISOString(), note].filter((part) => part !== "").join(", "),
    }));
}

async function tokenKeys({ client }: NameQuery): Promise<Candidate[]> {
  const { tokens } = await client.call("token_list_all_tokens");
  return tokens
    .filter(({ token_key }) => isPlain(token_key))
    .map(({ token_key, name, username }) => ({
      word: token_key,
      description: [username, name].filter((part) => part != null).join(", "),
    }));
}

/** Completes `BUCKET/PATH`; the names of buckets and folders end with a slash. Paths of this machine are left to the shell. */
async function completeLocations(query: NameQuery): Promise<Candidate[]> {
  const { client, signal, beginning } = query;
  if (/^[./~]/.test(beginning)) return [];
  if (!beginning.includes("/"))
    return (await bucketNames(query)).map((bucket) => ({ ...bucket, word: `${bucket.word}/` }));
  const [bucket = "", ...names] = beginning.slice(0, beginning.lastIndexOf("/")).split("/");
  const entries = await new BucketReader(client, bucket).list(names.join("/"), { signal });
  return entries.map(({ name, folder }) => ({
    word: `${[bucket, ...names, name].join("/")}${folder ? "/" : ""}`,
    description: folder ? "folder" : "file",
  }));
}

/** Whether no shell has to quote a name. Names of buckets, deploys and tokens are such; a server that is not ours may send others. */
function isPlain(name: string): boolean {
  return /^[A-Za-z0-9_.-]+$/.test(name);
}

/** Prints the words that may replace the last of `typed`, one a line, with a description after a tab. For the scripts of shells. */
export async function complete(
  { typed }: { readonly typed: readonly string[] },
  ctx: Context,
  command: Command,
): Promise<Outcome> {
  const program = command.parent ?? command;
  const beginning = typed.at(-1) ?? "";
  const found = await candidates(ctx, program, typed.slice(0, -1), beginning);
  const lines = found
    .filter(({ word }) => word.startsWith(beginning))
    .map(({ word, description }) => `${word}\t${description}\n`);
  return { text: lines.join("") };
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
