import { ptr } from "bun:ffi";
import { existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../base/fault.ts";
import type { User } from "../base/local-fs/access.ts";
import { openLibc } from "../base/local-fs/local-calls.ts";
import { exitCodes } from "../base/process.ts";

const unixSocket = 1;
const datagram = 2;
const closeOnExec = 0o2000000;

/** Notifier reports the state of the server to systemd (`Type=notify`, with watchdog). Without systemd it does nothing. */
interface Notifier {
  ready(): void;
  reloading(work: () => Promise<unknown> | undefined): Promise<void>;
  restarting(): void;
  /** `maxMs` is how long the stop may take, whatever `TimeoutStopSec` of the unit says. */
  stopping(maxMs: number): void;
}

export function openNotifier(env: Readonly<Record<string, string | undefined>>): Notifier {
  const path = env.NOTIFY_SOCKET;
  if (process.platform !== "linux" || path === undefined || path === "") return silent;
  const send = openSocket(path);
  const watchdogMs = Number(env.WATCHDOG_USEC) / 1000;
  const isOurs = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === process.pid;
  if (watchdogMs > 0 && isOurs) {
    // At once, too: after an update the process goes on with the watchdog's time from before its `execve`.
    send("WATCHDOG=1");
    // Half of the watchdog's time. The timer fires only while the event loop runs.
    setInterval(() => send("WATCHDOG=1"), watchdogMs / 2).unref();
  }
  const reloading = () => send("RELOADING=1");
  return {
    ready: () => send("READY=1\nSTATUS=serving"),
    restarting: reloading,
    stopping: (maxMs) => send(`STOPPING=1\nEXTEND_TIMEOUT_USEC=${Math.ceil(maxMs) * 1000}`),
    async reloading(work) {
      reloading();
      try {
        await work();
      } finally {
        send("READY=1");
      }
    },
  };
}

const silent: Notifier = {
  ready() {},
  restarting() {},
  stopping() {},
  async reloading(work) {
    await work();
  },
};

/** Opens a Unix datagram socket by libc, because Bun has none. */
function openSocket(path: string): (message: string) => void {
  const libc = openLibc({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  });
  if (libc === undefined) return () => {};
  const fd = libc.socket(unixSocket, datagram | closeOnExec, 0);
  // A leading `@` means the NUL byte of an abstract address.
  const name = Buffer.from(path.replace(/^@/, "\0"));
  const address = Buffer.concat([Buffer.from([unixSocket, 0]), name]);
  return (message) => {
    const bytes = Buffer.from(message);
    libc.sendto(fd, ptr(bytes), bytes.length, 0, ptr(address), address.length);
  };
}

interface UnitSettings {
  readonly binary: string;
  readonly config: string;
  readonly user: User;
  /** Folders that the server may write to; everything else is read-only for it. */
  readonly writable: readonly string[];
  /** How long the server goes on serving before it stops. */
  readonly drainSeconds: number;
  /** How many processes share the work: a number or `auto`; undefined for one. */
  readonly processes: string | undefined;
}

/** Longest stop, without the drain. */
const closeSeconds = 30;

/**
 * The pause between two starts. There is no limit to their number: a database or a store that is away at boot may come back at any
 * time. `RestartSteps`, which makes the pauses longer, needs systemd 254.
 */
const restartSeconds = 2;

/** Returns the text of the unit file. The service runs in the folder of the configuration. */
export function unitFile({ binary, config, user, writable, drainSeconds, processes }: UnitSettings): string {
  const path = (text: string) => `"${text.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
  const several = processes === undefined ? "" : ` --processes ${processes}`;
  return `[Unit]
Description=node-server
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
User=${user.name}
WorkingDirectory=${dirname(config).replaceAll("%", "%%")}
ExecStart=${path(binary)} serve -c ${path(config).replaceAll("$", "$$$$")}${several}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=${restartSeconds}
RestartPreventExitStatus=${exitCodes.usage}
WatchdogSec=30
TimeoutStartSec=60
TimeoutStopSec=${closeSeconds + drainSeconds}
UMask=0077
LimitNOFILE=65536

NoNewPrivileges=yes
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
ProtectSystem=strict
ReadWritePaths=${writable.map(path).join(" ")}
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

/** The folders of which systemd reads the units of the system: systemd.unit(5), without those of generators. */
const systemdFolders = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/lib/systemd/system",
];

/** Returns whether the unit at `path` is one of this machine's systemd. A unit of the same name elsewhere is another one. */
export function isReadBySystemd(path: string): boolean {
  const folder = dirname(path);
  const real = existsSync(folder) ? realpathSync(folder) : folder;
  return systemdFolders.includes(folder) || systemdFolders.includes(real);
}

/** Throws unless systemd runs this machine. Containers may have its programs without it. */
export function requireSystemd(): void {
  if (Bun.which("systemctl") !== null && existsSync("/run/systemd/system")) return;
  throw new Fault(
    "Other",
    "systemd does not run on this machine; `--no-start` works on the unit file alone, and `node-server serve` runs the server without a service",
  );
}

export function systemctl(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["systemctl", ...args]);
  if (exitCode !== 0)
    throw new Fault("Other", `systemctl ${args.join(" ")} failed: ${stderr.toString().trim()}`);
}
