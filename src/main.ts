import { Command, CommanderError } from "commander";
import { Fault, messageOf } from "./base/fault.ts";
import { defaultConfigPath, exitCodes } from "./cli/command.ts";
import { addDeployCommands } from "./cli/deploy/deploy-commands.ts";
import { adviseHelp, helpLine, refuseUnknownCommands, targetOf } from "./cli/failed-command.ts";
import { explainFileError } from "./cli/file-error.ts";
import { addClientCommands } from "./cli/remote/client-commands.ts";
import { explain } from "./cli/remote/explain.ts";
import { exitCodeOf } from "./cli/remote/remote.ts";
import { check } from "./cli/server/check.ts";
import { getUuid } from "./cli/server/get-uuid.ts";
import { init } from "./cli/server/init.ts";
import { releaseServer } from "./cli/server/release-server.ts";
import { rollSuper } from "./cli/server/roll-super-token.ts";
import { serve } from "./cli/server/serve.ts";
import { installService, uninstallService } from "./cli/server/service.ts";
import { sqlChild } from "./cli/server/sql-child.ts";
import { update } from "./cli/server/update.ts";
import { version, versionNumber } from "./cli/server/version.ts";
import { PipeClosed } from "./cli/terminal/output.ts";
import { WrongUsage } from "./cli/terminal/wrong-usage.ts";
import { ClientError } from "./client/index.ts";

/** argv → command → exit code. */
async function main(args: readonly string[]): Promise<number> {
  let code: number = exitCodes.done;
  // biome-ignore lint/suspicious/noExplicitAny: commander hands each command its own options.
  const run = (command: (options: any) => Promise<number>) => async (_: unknown, chosen: Command) => {
    code = await command(chosen.optsWithGlobals());
  };
  const program = new Command("node-server")
    .description("One executable: a JSON-RPC control plane and static file buckets.")
    .option("-c, --config <path>", "the configuration file", defaultConfigPath)
    .version(versionNumber, "-V, --version", "print the version")
    .exitOverride();
  let chosen: Command | undefined;
  program.hook("preAction", (_, command) => {
    chosen = command;
  });
  program
    .command("serve")
    .description("run the server; makes the configuration and the database when they are missing")
    .action(run(serve));
  program
    .command("init")
    .description("make the configuration, the database and the Super Token, show its credentials, exit")
    .option("--listen <address>", "ws_listener of the configuration that is written, such as 0.0.0.0:2211")
    .action(run(init));
  program
    .command("roll-super-token")
    .description("give the Super Token new credentials; the old ones end at once")
    .option("-y, --yes", "do not ask")
    .action(run(rollSuper));
  program.command("get-uuid").description("print the server's UUID").action(run(getUuid));
  program
    .command("check")
    .description("say what is wrong with the configuration and the files it names, with line and column")
    .option("--connect", "also connect to the database")
    .action(run(check));
  program
    .command("version")
    .description("print what was built")
    .option("--json", "the whole record")
    .action(run(version));
  program
    .command("update")
    .description("update to a release: the running server, or the binary when none runs")
    .option("--tag <tag>", "the version, as vX.Y.Z (default: the newest release)")
    .action(run(update));
  const service = program.command("service").description("run the server with systemd");
  const unitOptions = (command: Command) =>
    command
      .option("--name <name>", "the name of the service", "node-server")
      .option("--dir <folder>", "the folder of the unit files", "/etc/systemd/system");
  unitOptions(service.command("install"))
    .description("write the unit file, enable and start it; the database must exist (init)")
    .option("--user <user>", "the account that the server runs as (default: the one that called sudo)")
    .option("--print", "show the unit file and change nothing")
    .option("--no-start", "write the unit file, but tell systemd nothing")
    .action(run(installService));
  unitOptions(service.command("uninstall"))
    .description("stop it and remove the unit file")
    .option("--no-start", "remove the unit file, but tell systemd nothing")
    .action(run(uninstallService));
  program
    .command("release-server <folder>")
    .description("serve a folder of releases to servers that update themselves")
    .option("--listen <address>", "where to listen", "127.0.0.1:2212")
    .action(async (folder: string, { listen }: { listen: string }) => {
      code = await releaseServer({ folder, listen });
    });
  addClientCommands(program, (ended) => {
    code = ended;
  });
  addDeployCommands(program, (ended) => {
    code = ended;
  });
  program.command("sql-child", { hidden: true }).action(run(sqlChild));
  adviseHelp(program);
  refuseUnknownCommands(program);
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    if (error instanceof PipeClosed) return exitCodes.done;
    const advice = error instanceof WrongUsage && chosen !== undefined ? `\n${helpLine(chosen)}` : "";
    if (error instanceof ClientError)
      process.stderr.write(`node-server: ${await explain(error, await targetOf(chosen))}\n`);
    else if (error instanceof Fault)
      process.stderr.write(`node-server: ${error.detail.replaceAll("\n", "\nnode-server: ")}${advice}\n`);
    else process.stderr.write(`node-server: ${explainFileError(error) ?? bugText(error)}\n`);
    return exitCodeOf(error);
  }
}

function bugText(error: unknown): string {
  return `this is a bug: ${messageOf(error)}\n${(error instanceof Error && error.stack) || ""}`;
}

void main(process.argv.slice(2)).then((code) => process.exit(code));
