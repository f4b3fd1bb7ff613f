import { availableParallelism } from "node:os";
import { InvalidArgumentError } from "commander";
import { parseAddress } from "../base/address.ts";
import { defaultConfigPath, type OptionRow } from "./command.ts";

// Options that several commands have. Their types are exact, because the types of what a command is given follow from them.

/** Options of the program itself. */
export const globalOptions: readonly OptionRow[] = [
  ["-c, --config <path>", "the configuration file", { default: defaultConfigPath }],
  ["-q, --quiet", "print results and errors only, without notes and progress"],
];
export const json = ["--json", "print JSON"] as const;
export const yes = ["-y, --yes", "do not ask for confirmation"] as const;
/** Options of every command that talks to a server. */
export const remote = [
  ["-s, --server <name>", "the name of a saved server, or an address (https://host:port, unix:/path)"],
  ["--ca <file>", "check the server's certificate against this file (PEM)"],
] as const;
export const remoteJson = [...remote, json] as const;
/** With `--all`, for nodes that have no certificate. */
export const allowHttp = [
  "--allow-http",
  "with --all, send the token also to nodes without a certificate, over a network that you trust",
] as const;

const withAll = <const F extends string>([flags, description]: readonly [F, string]) =>
  [flags, `with --all, ${description}`] as const;

/** Options of `update --all`. */
export const onlyWithAll = [
  withAll(remote[0]),
  withAll(remote[1]),
  [
    "--watch <seconds>",
    "with --all, how long a node has to stay ready before the next one (default: 10)",
    { parse: parseSeconds },
  ],
  allowHttp,
  ["-y, --yes", "with --all, do not ask for confirmation"],
  ["--json", "with --all or --check, print the result as JSON"],
] as const;
/** The address of a server that this machine runs. */
export const listen = (description: string) =>
  ["--listen <address>", `${description}, such as 0.0.0.0:2211`, { parse: parseListen }] as const;

function parseListen(value: string): string {
  if (parseAddress(value) !== undefined) return value;
  throw new InvalidArgumentError("write ip:port or host:port, such as 0.0.0.0:2211");
}

const processesFlag = "--processes <number>";
const processesText =
  "run this many processes, or one for each core (auto); needs PostgreSQL and an object store";
/** How many processes share the work of a server. */
export const processes = [processesFlag, processesText, { parse: parseProcesses }] as const;
/** The same for a unit file: `auto` is decided when the service starts. */
export const unitProcesses = [
  processesFlag,
  processesText,
  {
    parse: (value: string) => {
      parseProcesses(value);
      return value;
    },
  },
] as const;

const maxProcesses = 256;

function parseProcesses(value: string): number {
  if (value === "auto") return availableParallelism();
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= maxProcesses) return count;
  throw new InvalidArgumentError(`write a number from 1 to ${maxProcesses}, or auto`);
}

function parseSeconds(value: string): number {
  if (/^\d{1,5}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("write a whole number of seconds");
}

/** Options of the commands that write or remove a unit file. */
export const unit = [
  ["--name <name>", "the name of the service", { default: "node-server" }],
  ["--dir <folder>", "the folder of the unit files", { default: "/etc/systemd/system" }],
] as const;
/** Collects the values of an option that may be given several times. */
export const gather = (value: string, before: readonly string[] = []) => [...before, value];

/** parseDuration reads a time such as `30d`, as milliseconds. */
export function parseDuration(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})(m|h|d|w|y)$/.exec(text) ?? [];
  const ms = { m: 60e3, h: 3600e3, d: 86_400e3, w: 604_800e3, y: 365 * 86_400e3 }[unit];
  if (count === undefined || ms === undefined || Number(count) === 0)
    throw new InvalidArgumentError("write a time as 90m, 12h, 30d, 4w or 1y.");
  return Number(count) * ms;
}

export function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("write a number from 1 to 999999.");
}
