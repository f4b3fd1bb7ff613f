import { type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { sqliteLockPath } from "../base/database-url.ts";
import { codeOf } from "../base/fault.ts";
import {
  accessBits,
  createFolderCommand,
  isSystemFolder,
  mayAccess,
  shellQuoted,
} from "../base/local-fs/access.ts";
import { isInside } from "../base/local-fs/folder.ts";
import type { Config } from "../config/schema.ts";
import { linkKeyPaths, pathsBeside } from "../config/server-uuid.ts";
import { databaseFile } from "../db/database.ts";
import { isSharedFolder, mayReplaceBinary, type ServiceTarget, usedFiles } from "./service-paths.ts";

const { read, write, enter } = accessBits;

interface RequiredAccess {
  readonly path: string;
  readonly bits: number;
  readonly verb: "read" | "write to";
}

/**
 * Lists what the service's account may not access, one line each, and last the command that mends it. Judged by owner, group and mode
 * alone; paths that do not exist, or that this process cannot see, are skipped.
 */
export function accessNotes(config: Config, folders: readonly string[], target: ServiceTarget): string[] {
  const { binary, user } = target;
  const name = user.name;
  // Where the server updates itself, the folder of the binary has a note of its own.
  const isUpdated = config.release_url !== undefined;
  const others = folders.filter((folder) => !isUpdated || folder !== dirname(binary));
  const required = [...others.map(toFolder), ...filesOf(config, target.config)];
  const missing = required.filter(({ path, bits }, at) => {
    const stats = statIfVisible(path);
    const isFirst = required.findIndex((other) => other.path === path) === at;
    return isFirst && stats !== undefined && !mayAccess(user, stats, bits);
  });
  const paths = missing.map(({ path }) => path);
  const own = paths.filter((path) => !isSystemFolder(path));
  const outermost = own.filter((path) => !own.some((other) => other !== path && isInside(path, other)));
  const shut = closedFolders([...folders, target.config], target);
  return [
    ...missing.map(({ path, verb }) => `${name} cannot ${verb} ${path}${adviceFor(path)}`),
    ...(isUpdated ? binaryNotes(target) : []),
    ...shut.map(
      (folder) => `${name} cannot enter ${folder}; move the server's files out of it, or change its mode`,
    ),
    ...(outermost.length === 0
      ? []
      : [`run \`chown -R ${name} ${outermost.map(shellQuoted).join(" ")}\` before the service starts`]),
  ];
}

function toFolder(path: string): RequiredAccess {
  return { path, bits: write | enter, verb: "write to" };
}

/** The advice for a path that the common `chown -R` must not touch. */
function adviceFor(path: string): string {
  return isSystemFolder(path) ? "; name a folder of its own in the configuration" : "";
}

/** Names the folder of the binary if self-update cannot replace the binary there. Its folder may be inside another writable one. */
function binaryNotes(target: ServiceTarget): string[] {
  const { binary, config, user } = target;
  const folder = dirname(binary);
  if (mayReplaceBinary(target)) return [];
  const problem = `${user.name} cannot write to ${folder}, so self-update will fail`;
  if (!isSharedFolder(folder)) return [`${problem}; run \`chown ${user.name} ${shellQuoted(folder)}\``];
  const home = isSharedFolder(dirname(config)) ? "/srv/node" : dirname(config);
  const command = createFolderCommand(join(home, "bin"), user.name, 0o755);
  return [`${problem}; run \`${command}\`, move the binary there and install the service again`];
}

/** The files that a configuration names. */
function filesOf(config: Config, configPath: string): RequiredAccess[] {
  const file = databaseFile(config.database.database_url);
  const used = usedFiles(config).map(({ path, use }) => ({ path, isRead: use === "read" }));
  const readOnly = [
    configPath,
    ...pathsBeside(configPath, file),
    ...linkKeyPaths({ setting: config.link_key_file, configPath, databaseFile: file }),
    ...used.filter(({ isRead }) => isRead).map(({ path }) => path),
  ];
  const written = [
    ...(file === undefined ? [] : [dirname(file), `${file}-wal`, `${file}-shm`, sqliteLockPath(file)]),
    ...used.filter(({ isRead }) => !isRead).map(({ path }) => path),
  ];
  const required = (paths: readonly string[], bits: number, verb: RequiredAccess["verb"]) =>
    paths.map((path) => ({ path, bits, verb }));
  return [...required(readOnly, read, "read"), ...required(written, read | write, "write to")];
}

/** Folders on the way to these paths that the account may not enter. */
function closedFolders(paths: readonly string[], { user }: ServiceTarget): string[] {
  const above = new Set<string>();
  for (const path of paths)
    for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) above.add(folder);
  return [...above].filter((folder) => {
    const stats = statIfVisible(folder);
    return stats !== undefined && !mayAccess(user, stats, enter) && !paths.includes(folder);
  });
}

function statIfVisible(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) === "EACCES" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
