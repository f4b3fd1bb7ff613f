import { link, lstat, mkdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { defaultOf, type Key } from "../base/config-key.ts";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import {
  type AccessProblem,
  accessMessage,
  folderProblem,
  readProblem,
  readRegularBytes,
} from "../base/local-fs/access.ts";
import { temporaryName, writeWhole } from "../base/local-fs/replace-file.ts";
import { decodeConfig } from "./parse.ts";
import { sections } from "./schema.ts";

/**
 * `readConfigFile` reads and decodes a configuration. Throws ConfigNotFound, IoError, or ConfigFault for bytes that are not UTF-8.
 */
export async function readConfigFile(path: string): Promise<string> {
  return decodeConfig(await readBytes(path), path);
}

async function readBytes(path: string): Promise<Buffer> {
  try {
    return await readRegularBytes(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") {
      throw new Fault(
        "ConfigNotFound",
        `${resolve(path)} does not exist; name the configuration with -c, or create one with \`node-server init\``,
        { path },
      );
    }
    // A disk that does not answer must not be read again.
    const problem = codeOf(error) === "ETIMEDOUT" ? undefined : readProblem(resolve(path));
    throw unusable(path, "cannot be read", { error, problem });
  }
}

/** `unusable` names the file, its owner and the user of this process. */
function unusable(
  path: string,
  failed: string,
  { error, problem }: { readonly error: unknown; readonly problem: AccessProblem | undefined },
): Fault {
  const subject = { name: "the configuration", path: resolve(path), failed };
  const known = problem ?? { path: subject.path, why: `${failed}: ${messageOf(error)}` };
  return new Fault("IoError", accessMessage(subject, known), { path });
}

/**
 * `ensureConfigFile` writes the commented default if no file exists, and returns true if it did. `listener` replaces the default
 * `ws_listener`.
 */
export async function ensureConfigFile(path: string, listener?: string): Promise<boolean> {
  try {
    if (await exists(path)) return false;
    await mkdir(dirname(path), { recursive: true });
    const beside = join(dirname(path), temporaryName(basename(path)));
    try {
      // An operator may add a database password to it, so only the owner may read it.
      await writeWhole(beside, defaultConfigText(listener), { mode: 0o600 });
      // Unlike rename, link never replaces a file that another process created meanwhile.
      await link(beside, path);
    } finally {
      await rm(beside, { force: true });
    }
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST" && (await exists(path))) return false;
    throw unusable(path, "cannot be created", { error, problem: folderProblem(dirname(resolve(path))) });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

export function defaultConfigText(listener?: string): string {
  const given: Readonly<Record<string, string | undefined>> = { ws_listener: listener };
  const parts = sections.map(([table, keys]) => {
    const lines = Object.entries(keys).map(
      ([name, key]) => `# ${key.description}\n${settingLine(name, key, given[name])}\n`,
    );
    return (table === undefined ? "" : `[${table}]\n\n`) + lines.join("\n");
  });
  return `# node-server. Every key is here; the commented ones show their defaults.\n# SIGHUP makes a running server read this file again. The environment variable NODE_SERVER_<KEY> overrides a key (NODE_SERVER_FILES_<KEY> below [files], NODE_SERVER_TLS_<KEY> below [tls], NODE_SERVER_S3_<KEY> below [s3]);\n# relative paths start at the folder of this file.\n\n${parts.join("\n")}`;
}

function settingLine(name: string, key: Key, initial = key.initial): string {
  if (initial !== undefined) return `${name} = ${JSON.stringify(initial)}`;
  const defaultValue = defaultOf(key);
  return defaultValue === undefined ? `# ${name} =` : `# ${name} = ${JSON.stringify(defaultValue)}`;
}
