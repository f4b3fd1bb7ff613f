import { dirname } from "node:path";
import type { User } from "../base/local-fs/access.ts";
import { exitCodes } from "../base/process.ts";

export interface UnitSettings {
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
