import { mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { accessMessage, folderProblem } from "../../base/access.ts";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/replace-file.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";

/** A server that somebody logged in to. */
export interface KnownServer {
  readonly url: string;
  readonly token: string;
  /** The file with the certificates that its own is checked against. */
  readonly ca?: string;
}

export interface KnownServers {
  /** The one that is meant when none is named. */
  readonly current?: string;
  readonly servers: Readonly<Record<string, KnownServer>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** In the user's own configuration folder, readable for nobody else: it holds tokens. */
export function serversPath(env: Environment): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(folder, "node-server", "servers.json");
}

export async function readServers(env: Environment): Promise<KnownServers> {
  const path = serversPath(env);
  try {
    return parseServers(await readFile(path, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { servers: {} };
    throw new Fault(
      "IoError",
      `${path} cannot be read (${messageOf(error)}); mend it, or remove it and log in again`,
    );
  }
}

/** Refuses to go on where logins cannot be kept, before a token is asked for. */
export function requireServersWritable(env: Environment): void {
  const path = serversPath(env);
  const problem = folderProblem(dirname(path));
  if (problem === undefined) return;
  const subject = { name: "the logins in", path, failed: "cannot be written" };
  throw new Fault(
    "IoError",
    `${accessMessage(subject, problem)}, or set XDG_CONFIG_HOME to a folder of your own`,
  );
}

export async function writeServers(known: KnownServers, env: Environment): Promise<void> {
  requireServersWritable(env);
  const path = serversPath(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, `${JSON.stringify(known, null, 2)}\n`, { mode: 0o600 });
}

/** The server of this name. An object's inherited members are no servers. */
export function knownServer({ servers }: KnownServers, name: string): KnownServer | undefined {
  return Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** An address in the one spelling in which addresses are kept and compared. `command` is what it was an argument of. */
export function parseServerUrl(text: string, command?: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new WrongUsage(whyNoAddress(text, command));
  if (url.username !== "" || url.password !== "")
    throw new WrongUsage(
      `the address of ${url.host} holds credentials; leave them out, the token is asked for`,
    );
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "").replace(/\/jsonrpc$/, "");
}

export function parseServerName(text: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/.test(text))
    throw new WrongUsage(
      `${JSON.stringify(text)} is no name for a server: use up to 64 of A-Z a-z 0-9 _ . -`,
    );
  return text;
}

/** A name from an address, without signs that a shell's completion trips over. */
export function nameFromUrl(url: string): string {
  const { hostname, port } = new URL(url);
  const words = [hostname, port].join("-").replace(/[^A-Za-z0-9_.-]+/g, "-");
  return words.replace(/^[-.]+|[-.]+$/g, "").slice(0, 64) || "server";
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

/** Which of the two schemes is right is not guessed: a token must not go over http by accident. */
function whyNoAddress(text: string, command: string | undefined): string {
  const shown = hideUser(text);
  const written = (scheme: string) =>
    command === undefined ? `${scheme}://${shown}` : `\`${command} ${scheme}://${shown}\``;
  return /^[\w.[\]-]+(:\d+)?(\/\S*)?$/.test(text)
    ? `${shown} has no scheme: write ${written("https")}, or ${written("http")} where the server has no certificate`
    : `${shown} is no address of a server; write it as https://host:port`;
}

function hideUser(text: string): string {
  return text.replace(/[^/]*@/, "…@");
}
