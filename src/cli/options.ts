import { availableParallelism } from "node:os";
import { InvalidArgumentError } from "commander";
import { parseAddress } from "../base/address.ts";
import { defaultConfigPath } from "./command.ts";
import type { OptionRow } from "./command-row.ts";

/** Options of the program itself. */
export const globalOptions: readonly OptionRow[] = [
  ["-c, --config <path>", "the configuration file", { default: defaultConfigPath }],
];
export const json: OptionRow = ["--json", "print JSON"];
export const yes: OptionRow = ["-y, --yes", "do not ask for confirmation"];
/** Options of every command that talks to a server. */
export const remote: readonly OptionRow[] = [
  ["-s, --server <name>", "the name of a saved server, or an address (https://host:port, unix:/path)"],
  ["--ca <file>", "check the server's certificate against this file (PEM)"],
];
/** With `--all`, for nodes that have no certificate. */
export const allowHttp: OptionRow = [
  "--allow-http",
  "with --all, send the token also to nodes without a certificate, over a network that you trust",
];
/** Options of `update --all`. */
export const onlyWithAll: readonly OptionRow[] = [
  ...remote.map(([flags, description]): OptionRow => [flags, `with --all, ${description}`]),
  [
    "--watch <seconds>",
    "with --all, how long a node has to stay ready before the next one (default: 10)",
    { parse: parseSeconds },
  ],
  allowHttp,
  ["-y, --yes", "with --all, do not ask for confirmation"],
  ["--json", "with --all or --check, print the result as JSON"],
];
export const remoteJson = [...remote, json];
/** The address of a server that this machine runs. */
export const listen = (description: string): OptionRow => [
  "--listen <address>",
  `${description}, such as 0.0.0.0:2211`,
  { parse: parseListen },
];

function parseListen(value: string): string {
  if (parseAddress(value) !== undefined) return value;
  throw new InvalidArgumentError("write ip:port or host:port, such as 0.0.0.0:2211");
}

/** How many processes share the work of a server. */
const processesOption = (parse: (value: string) => unknown): OptionRow => [
  "--processes <number>",
  "run this many processes, or one for each core (auto); needs PostgreSQL and an object store",
  { parse },
];
export const processes = processesOption(parseProcesses);
/** The same for a unit file: `auto` is decided when the service starts. */
export const unitProcesses = processesOption((value) => {
  parseProcesses(value);
  return value;
});

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
export const unit: readonly OptionRow[] = [
  ["--name <name>", "the name of the service", { default: "node-server" }],
  ["--dir <folder>", "the folder of the unit files", { default: "/etc/systemd/system" }],
];
/** Collects the values of an option that may be given several times. */
export const gather = (value: string, before: readonly string[] = []) => [...before, value];

/** Options of the commands that make or change a bucket. `path` says what is used without `--path`. */
export const bucketShape = (path: string): readonly OptionRow[] => [
  ...remoteJson,
  ["--path <folder>", `its folder below static_path (${path})`],
  ["--root", "serve it at /"],
  ["--cors", "allow pages of other origins to read it (CORS)"],
  ["--private", "only tokens with StaticBucketFile::Read, and signed links, can read its files"],
  ["--public", "anyone can read its files"],
  [
    "--host <name>",
    "a host name that serves it at /, such as docs.example.org; repeatable",
    { parse: gather },
  ],
  ["--clean-urls", "answer /about with about.html"],
];

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
