import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import { isCompiled } from "../../build.ts";
import { readOverrides } from "../../config/environment.ts";
import { loadConfig } from "../../config/live.ts";
import {
  accessNotes,
  requireDatabase,
  requireFolders,
  serviceUser,
  temporaryNotes,
  writableFolders,
} from "../../host/service-paths.ts";
import { isReadBySystemd, requireSystemd, systemctl, unitFile } from "../../host/systemd.ts";
import { inspectShared } from "../../process-group.ts";
import { type CommandOptions, exitCodes } from "../command.ts";
import type { Context } from "../context.ts";

interface UninstallOptions extends CommandOptions {
  readonly name: string;
  /** The folder of the unit files. */
  readonly dir: string;
  /** False: systemd is neither reloaded nor asked to start or stop the service. A folder that systemd does not read implies it. */
  readonly start: boolean;
}

export interface InstallOptions extends UninstallOptions {
  /** The account that the server runs as. */
  readonly user?: string;
  /** How many processes share the work; `auto` is decided at each start. */
  readonly processes?: string;
  /** Shows the unit file and changes nothing. */
  readonly print?: boolean;
}

export async function installService(options: InstallOptions, ctx: Context): Promise<number> {
  if (!isCompiled)
    throw new Fault("Other", "the service runs the compiled binary; build it and run this command from it");
  const path = unitPath(ctx, options);
  const user = serviceUser(options.user, ctx.env.SUDO_USER);
  const target = { binary: process.execPath, config: ctx.path(options.config), user };
  const { processes } = options;
  const inspect = processes === undefined || processes === "1" ? undefined : inspectShared;
  const { config } = await loadConfig(target.config, inspect);
  const writable = writableFolders(config, target);
  const unit = unitFile({ ...target, writable, drainSeconds: config.drain_seconds, processes });
  const printNotes = () => {
    const notes = [
      ...temporaryNotes(target),
      ...accessNotes(config, writable, target),
      ...environmentNotes(ctx, options),
    ];
    for (const note of notes) ctx.say(`note: ${note}`);
  };
  if (options.print) {
    await ctx.print(unit);
    printNotes();
    return exitCodes.done;
  }
  const callsSystemd = options.start && isReadBySystemd(path);
  if (callsSystemd) requireSystemd();
  requireFolders(config, writable, user);
  await requireDatabase(config, target);
  try {
    await mkdir(dirname(path), { recursive: true });
    await replaceFile(path, unit, { mode: 0o644 });
  } catch (error) {
    throw new Fault("IoError", `${path} cannot be written (sudo?): ${messageOf(error)}`);
  }
  await ctx.print(`wrote ${path}\n`);
  printNotes();
  if (!callsSystemd) {
    sayUnread(ctx, path, options, "written");
    return exitCodes.done;
  }
  systemctl("daemon-reload");
  systemctl("enable", "--now", `${options.name}.service`);
  await ctx.print(`${options.name} runs; systemctl status ${options.name} shows it\n`);
  return exitCodes.done;
}

export async function uninstallService(options: UninstallOptions, ctx: Context): Promise<number> {
  const path = unitPath(ctx, options);
  const callsSystemd = options.start && isReadBySystemd(path);
  if (callsSystemd) requireSystemd();
  if (!existsSync(path)) throw new Fault("NotFound", `${path} does not exist`);
  if (callsSystemd) systemctl("disable", "--now", `${options.name}.service`);
  await rm(path);
  if (callsSystemd) systemctl("daemon-reload");
  await ctx.print(`removed ${path}; configuration, database and files are untouched\n`);
  if (!callsSystemd) sayUnread(ctx, path, options, "removed");
  return exitCodes.done;
}

/** Lists the settings of this environment, which the service does not inherit. */
function environmentNotes(ctx: Context, { name }: InstallOptions): string[] {
  return readOverrides(ctx.env).values.map(
    ({ path, from }) =>
      `${from} is set here, but not for the service; write ${path.at(-1)} into the configuration, or the variable into the unit with \`systemctl edit ${name}\``,
  );
}

function unitPath(ctx: Context, { dir, name }: UninstallOptions): string {
  if (!/^[A-Za-z0-9_.@-]{1,64}$/.test(name))
    throw new Fault("InvalidInput", `${name} is not a valid name for a service`);
  return join(ctx.path(dir), `${name}.service`);
}

/** Tells why the service itself was left alone, unless `--no-start` asked for that. */
function sayUnread(ctx: Context, path: string, { start }: UninstallOptions, done: string): void {
  if (start) ctx.say(`note: systemd does not read ${dirname(path)}; the unit was only ${done}`);
}
