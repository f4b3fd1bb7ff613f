import type { Command } from "commander";

/** Adds the options of every command that talks to a server. */
export function serverOptions(command: Command): Command {
  return command
    .option("-s, --server <name>", "a server that was logged in to, or its address")
    .option("--ca <file>", "trust the certificates in this file (PEM) for the server's own");
}
