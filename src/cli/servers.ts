import { mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { replaceFile } from "../base/replace-file.ts";

/** A server that somebody logged in to. */
export interface KnownServer {
  readonly url: string;
  readonly token: string;
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
    const known = JSON.parse(await readFile(path, "utf8")) as KnownServers;
    if (typeof known.servers !== "object" || known.servers === null)
      throw new SyntaxError("`servers` is missing");
    return known;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { servers: {} };
    throw new Fault(
      "IoError",
      `${path} cannot be read (${messageOf(error)}); mend it, or remove it and log in again`,
    );
  }
}

export async function writeServers(known: KnownServers, env: Environment): Promise<void> {
  const path = serversPath(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, `${JSON.stringify(known, null, 2)}\n`, { mode: 0o600 });
}
