import type { Command } from "commander";
import { nearest } from "../base/nearest.ts";
import type { Context } from "./context.ts";
import { parseServerUrl } from "./login/known-servers.ts";
import { fetchFor, findTarget, readCa, type Target } from "./remote/remote.ts";

/** A line that names the help of a command. The help itself is not printed, because the error above it would scroll away. */
export function helpLine(command: Command, ...more: string[]): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return `see \`${[...names, ...more].join(" ")} --help\``;
}

/** The same line after a command has failed: a method has a help of its own. */
export async function helpLineAfter(command: Command): Promise<string> {
  const [method = ""] = command.args;
  const isMethod =
    command.name() === "call" && (await import("./call/declaration.ts")).methodNames.includes(method);
  return helpLine(command, ...(isMethod ? [method] : []));
}

/** Adds the line of `helpLine` to every message about wrong usage that commander prints. */
export function adviseHelp(command: Command): void {
  command.showHelpAfterError(helpLine(command));
  for (const sub of command.commands) adviseHelp(sub);
}

/**
 * Treats an argument of a group's default command as a misspelt command: for `buckets lst`, commander would say that `list` has
 * too many arguments.
 */
export function refuseUnknownCommands(command: Command): void {
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
export async function targetOf(
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
