import { existsSync, realpathSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../../base/fault.ts";
import { type User, userByName, userByUid } from "../../base/local-fs/access.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import { isCompiled } from "../../build.ts";
import { readOverrides } from "../../config/environment.ts";
import { loadConfig } from "../../config/live.ts";
import { accessNotes, requireDatabase, requireFolders, writableFolders } from "../../host/service-paths.ts";
import { unitFile } from "../../host/systemd.ts";
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
  const user = serviceUser(ctx, options.user);
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

/** Names a file that the service will not see, because its unit has a temporary folder of its own (`PrivateTmp`). */
function temporaryNotes({ binary, config }: { readonly binary: string; readonly config: string }): string[] {
  const hidden = [binary, config].find((path) => /^\/(?:var\/)?tmp\//.test(path));
  return hidden === undefined
    ? []
    : [
        `the service will not start: it has its own temporary folder and cannot see ${hidden}; move it, for instance to /srv/node-server, and install the service again`,
      ];
}

/** Lists the settings of this environment, which the service does not inherit. */
function environmentNotes(ctx: Context, { name }: InstallOptions): string[] {
  return readOverrides(ctx.env).values.map(
    ({ path, from }) =>
      `${from} is set here, but not for the service; write ${path.at(-1)} into the configuration, or the variable into the unit with \`systemctl edit ${name}\``,
  );
}

/** Returns the account that was given, else the one that called sudo, else the present one. Root must be given. */
function serviceUser(ctx: Context, given: string | undefined): User {
  const name = given ?? ctx.env.SUDO_USER;
  const uid = process.getuid?.() ?? 0;
  const user = name === undefined ? userByUid(uid) : userByName(name);
  if (user === undefined)
    throw new Fault(
      "NotFound",
      name === undefined
        ? `the account with the number ${uid} has no name; name one with --user`
        : `there is no user ${name} on this machine; create one with \`useradd --system ${name}\`, or name another with --user`,
    );
  if (user.uid === 0 && given === undefined)
    throw new Fault(
      "Other",
      "the server should not run as root: name another user with --user (or --user root if that is intended)",
    );
  return user;
}

function unitPath(ctx: Context, { dir, name }: UninstallOptions): string {
  if (!/^[A-Za-z0-9_.@-]{1,64}$/.test(name))
    throw new Fault("InvalidInput", `${name} is not a valid name for a service`);
  return join(ctx.path(dir), `${name}.service`);
}

/** The folders of which systemd reads the units of the system: systemd.unit(5), without those of generators. */
const systemdFolders = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/lib/systemd/system",
];

/** Whether the unit at `path` is one of this machine's systemd. A unit of the same name elsewhere is another one. */
function isReadBySystemd(path: string): boolean {
  const folder = dirname(path);
  const real = existsSync(folder) ? realpathSync(folder) : folder;
  return systemdFolders.includes(folder) || systemdFolders.includes(real);
}

/** Tells why the service itself was left alone, unless `--no-start` asked for that. */
function sayUnread(ctx: Context, path: string, { start }: UninstallOptions, done: string): void {
  if (start) ctx.say(`note: systemd does not read ${dirname(path)}; the unit was only ${done}`);
}

/** Throws unless systemd runs this machine. Containers may have its programs without it. */
function requireSystemd(): void {
  if (Bun.which("systemctl") !== null && existsSync("/run/systemd/system")) return;
  throw new Fault(
    "Other",
    "systemd does not run on this machine; `--no-start` works on the unit file alone, and `node-server serve` runs the server without a service",
  );
}

function systemctl(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["systemctl", ...args]);
  if (exitCode !== 0)
    throw new Fault("Other", `systemctl ${args.join(" ")} failed: ${stderr.toString().trim()}`);
}
