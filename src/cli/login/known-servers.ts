import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { accessMessage, folderProblem } from "../../base/local-fs/access.ts";
import { hideCredentials, readServerUrl } from "../../client/index.ts";
import { type Context, configFolder, writePrivate } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { isUnixAddress, toUnixAddress } from "../remote/addresses.ts";

/** KnownServer is a server that the user logged in to. */
interface KnownServer {
  readonly url: string;
  readonly token: string;
  /** The file with the certificates that its own is checked against. */
  readonly ca?: string;
}

export interface KnownServers {
  /** The one that commands use when none is named. */
  readonly current?: string;
  readonly servers: Readonly<Record<string, KnownServer>>;
}

/** The path of the logins. Only the user can read the file: it holds tokens. */
function serversPath(ctx: Context): string {
  return join(configFolder(ctx), "servers.json");
}

export async function readServers(ctx: Context): Promise<KnownServers> {
  const path = serversPath(ctx);
  try {
    return parseServers(await readFile(path, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { servers: {} };
    throw new Fault(
      "IoError",
      `${path} cannot be read (${messageOf(error)}); repair it, or remove it and log in again`,
    );
  }
}

/** Throws when logins cannot be saved. Call it before asking for a token. */
export function requireServersWritable(ctx: Context): void {
  const path = serversPath(ctx);
  const problem = folderProblem(dirname(path), 0o700);
  if (problem === undefined) return;
  const subject = { name: "the logins in", path, failed: "cannot be written" };
  throw new Fault(
    "IoError",
    `${accessMessage(subject, problem)}, or set XDG_CONFIG_HOME to a folder of your own`,
  );
}

export async function writeServers(ctx: Context, known: KnownServers): Promise<void> {
  requireServersWritable(ctx);
  const path = serversPath(ctx);
  await writePrivate(path, `${JSON.stringify(known, null, 2)}\n`);
}

/** Finds a server by name, without inherited members such as `constructor`. */
export function knownServer({ servers }: KnownServers, name: string): KnownServer | undefined {
  return Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** Finds a server by name; throws if there is none. */
export function requireServer(known: KnownServers, name: string): KnownServer {
  const found = knownServer(known, name);
  if (found !== undefined) return found;
  throw new WrongUsage(`there is no saved server ${name}; \`node-server servers\` lists them`);
}

/**
 * Reads the address of a server or of its Unix socket; throws when it is invalid. `command` is the command that it is an argument
 * of, for the message.
 */
export function parseServerUrl(ctx: Context, text: string, command?: string): string {
  if (isUnixAddress(text)) return toUnixAddress(ctx, text);
  const read = readServerUrl(text);
  if ("url" in read) return read.url;
  throw new WrongUsage(
    read.problem === "credentials"
      ? `the address of ${read.host} contains credentials; remove them, and enter the token when asked`
      : whyNoAddress(text, command),
  );
}

export function parseServerName(text: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/.test(text))
    throw new WrongUsage(
      `${JSON.stringify(text)} is not a valid name for a server: use up to 64 of A-Z a-z 0-9 _ . -`,
    );
  return text;
}

/** Makes a name from an address, without characters that break a shell's completion. */
export function nameFromUrl(url: string): string {
  const { hostname, port } = new URL(url);
  const name = (isUnixAddress(url) ? basename(url) : [hostname, port].join("-")).replace(
    /[^A-Za-z0-9_.-]+/g,
    "-",
  );
  return name.replace(/^[-.]+|[-.]+$/g, "").slice(0, 64) || "server";
}

function parseServers(text: string): KnownServers {
  const known = parseJson(text) as Partial<KnownServers> | null;
  const { servers } = known ?? {};
  if (typeof servers !== "object" || servers === null) throw new SyntaxError("`servers` is missing");
  for (const [name, server] of Object.entries(servers))
    if (typeof server?.url !== "string" || typeof server.token !== "string")
      throw new SyntaxError(`\`servers.${name}\` has no \`url\` and \`token\``);
  return { ...known, servers };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Without the parser's own message, which would quote the file, and with it a token.
    throw new SyntaxError("it is not JSON");
  }
}

/** Explains an invalid address. The scheme is not guessed: a token must not go over http by accident. */
function whyNoAddress(text: string, command: string | undefined): string {
  const shown = hideCredentials(text);
  const written = (scheme: string) =>
    command === undefined ? `${scheme}://${shown}` : `\`${command} ${scheme}://${shown}\``;
  return /^[\w.[\]-]+(:\d+)?(\/\S*)?$/.test(text)
    ? `${shown} has no scheme: write ${written("https")}, or ${written("http")} where the server has no certificate`
    : `${shown} is not the address of a server; write it as https://host:port, or as unix:/path/node.sock`;
}
