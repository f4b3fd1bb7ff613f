import { existsSync } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Fault, messageOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/replace-file.ts";
import { isCompiled } from "../../build.ts";
import { type CommandOptions, exitCodes } from "../command.ts";

export interface ServiceOptions extends CommandOptions {
  readonly name: string;
  /** Where unit files are. */
  readonly dir: string;
  /** Who the server runs as. */
  readonly user?: string;
  /** Shows the unit file and changes nothing. */
  readonly print?: boolean;
  /** False: written, but neither enabled nor started. */
  readonly start: boolean;
}

export async function installService(options: ServiceOptions): Promise<number> {
  const user = options.user ?? process.env.SUDO_USER ?? userInfo().username;
  if (!isCompiled)
    throw new Fault("Other", "the service runs the compiled binary; build it and run this command from it");
  const unit = unitFile(process.execPath, resolve(options.config), user);
  if (options.print) {
    process.stdout.write(unit);
    return exitCodes.done;
  }
  if (user === "root" && options.user === undefined)
    throw new Fault(
      "Other",
      "the server should not run as root: name another user with --user (or --user root if you mean it)",
    );
  const path = unitPath(options);
  const home = dirname(resolve(options.config));
  const { uid } = await stat(home).catch((error: unknown) => {
    throw new Fault("IoError", `${home} must be there before the service: ${messageOf(error)}`);
  });
  try {
    await mkdir(options.dir, { recursive: true });
    await replaceFile(path, unit, { mode: 0o644 });
  } catch (error) {
    throw new Fault("IoError", `${path} cannot be written (sudo?): ${messageOf(error)}`);
  }
  process.stdout.write(`wrote ${path}\n`);
  if (user !== "root" && uid === 0)
    process.stderr.write(
      `note: ${dirname(resolve(options.config))} belongs to root; ${user} must be able to write there (chown)\n`,
    );
  if (!options.start) return exitCodes.done;
  systemctl("daemon-reload");
  systemctl("enable", "--now", `${options.name}.service`);
  process.stdout.write(`${options.name} runs; systemctl status ${options.name} shows it\n`);
  return exitCodes.done;
}

export async function uninstallService(options: ServiceOptions): Promise<number> {
  const path = unitPath(options);
  if (!existsSync(path)) throw new Fault("NotFound", `there is no ${path}`);
  if (options.start) systemctl("disable", "--now", `${options.name}.service`);
  await rm(path);
  if (options.start) systemctl("daemon-reload");
  process.stdout.write(`removed ${path}; configuration, database and files are untouched\n`);
  return exitCodes.done;
}

function unitPath({ dir, name }: ServiceOptions): string {
  if (!/^[A-Za-z0-9_.@-]{1,64}$/.test(name))
    throw new Fault("InvalidInput", `${name} is no name for a service`);
  return join(dir, `${name}.service`);
}

function systemctl(...args: string[]): void {
  if (Bun.which("systemctl") === null)
    throw new Fault("Other", "systemctl is not here; use --no-start to write the unit file alone");
  const { exitCode, stderr } = Bun.spawnSync(["systemctl", ...args]);
  if (exitCode !== 0)
    throw new Fault("Other", `systemctl ${args.join(" ")} failed: ${stderr.toString().trim()}`);
}

/** The folder of the binary stays writable, because self-update replaces it there. */
function unitFile(binary: string, config: string, user: string): string {
  const home = dirname(config);
  const path = (text: string) => `"${text.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
  return `[Unit]
Description=node-server
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
NotifyAccess=main
User=${user}
WorkingDirectory=${home.replaceAll("%", "%%")}
ExecStart=${path(binary)} serve -c ${path(config).replaceAll("$", "$$$$")}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
WatchdogSec=30
TimeoutStartSec=60
TimeoutStopSec=30
UMask=0077
LimitNOFILE=65536

NoNewPrivileges=yes
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
ProtectSystem=strict
ReadWritePaths=${path(home)} ${path(dirname(binary))}
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`;
}
