import { existsSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { shownDatabase, sqliteLockPath } from "../base/database-url.ts";
import { codeOf, Fault } from "../base/fault.ts";
import {
  accessBits,
  createFolderCommand,
  isSystemFolder,
  mayAccess,
  shellQuoted,
  type User,
  userByName,
  userByUid,
} from "../base/local-fs/access.ts";
import { isInside } from "../base/local-fs/folder.ts";
import { type ConfiguredFile, configuredFiles, folderModeOf } from "../config/paths.ts";
import type { Config } from "../config/schema.ts";
import { linkKeyPaths, pathsBeside } from "../config/server-uuid.ts";
import { databaseFile } from "../db/database.ts";
import { probeDatabase } from "../db/probe.ts";
import { LogHub } from "../log/hub.ts";

/** ServiceTarget is what a service runs, and as whom. */
interface ServiceTarget {
  readonly binary: string;
  readonly config: string;
  readonly user: User;
}

/** Lists what the server uses of the files and folders in its configuration. */
function usedFiles(config: Config): ConfiguredFile[] {
  return configuredFiles(config).filter(
    ({ name }) => name !== "unix_socket_path" || config.enable_unix_socket,
  );
}

/** Lists the folders that the server writes to, without those inside another one. */
export function writableFolders(config: Config, target: ServiceTarget): string[] {
  const { binary, config: path } = target;
  const isUpdated = config.release_url !== undefined;
  const folders = [
    dirname(path),
    ...usedFiles(config)
      .filter(({ use }) => use !== "read")
      .map(folderOf),
    // Self-update replaces the binary in its folder, unless that is a folder of the system which the account cannot write.
    ...(isUpdated && (mayReplaceBinary(target) || !isSharedFolder(dirname(binary))) ? [dirname(binary)] : []),
  ];
  return folders.filter(
    (folder, at) =>
      folders.indexOf(folder) === at && !folders.some((other) => other !== folder && isInside(folder, other)),
  );
}

/** Folders of programs that are not the server's alone. No account of a server may own one. */
const programFolders = /^\/(((usr|bin|sbin|lib\w*|etc)(\/|$))|opt\/s?bin$)/;

/** `isSharedFolder` returns whether a folder holds programs of the system, and must keep its owner. */
function isSharedFolder(path: string): boolean {
  return isSystemFolder(path) || programFolders.test(path);
}

/** Whether owner, group and mode let the account replace the binary, as self-update does. */
function mayReplaceBinary({ binary, user }: ServiceTarget): boolean {
  return mayAccess(user, statSync(dirname(binary)), accessBits.write | accessBits.enter);
}

function folderOf({ path, use }: ConfiguredFile): string {
  return use === "folder" ? path : dirname(path);
}

/** Throws when a folder is missing, because systemd does not start a unit whose writable folders do not exist. */
export function requireFolders(config: Config, folders: readonly string[], { name }: User): void {
  const missing = folders.find((folder) => !existsSync(folder));
  if (missing === undefined) return;
  const key = usedFiles(config).find((file) => folderOf(file) === missing)?.name ?? "";
  const command = createFolderCommand(missing, name, folderModeOf(key));
  throw new Fault("NotFound", `${missing} must exist before the service; run \`${command}\``);
}

/** Throws unless the database is initialised: the first start prints the Super Token, and under systemd that goes into the journal. */
export async function requireDatabase(
  { database }: Config,
  { binary, config, user }: ServiceTarget,
): Promise<void> {
  const { state } = await probeDatabase(database, new LogHub());
  if (state === "ready") return;
  const init = `sudo -u ${user.name} ${shellQuoted(binary)} init -c ${shellQuoted(config)}`;
  throw new Fault(
    "NotFound",
    `the database ${shownDatabase(database.database_url)} ${state === "missing" ? "does not exist" : "is empty"}, and its first start under systemd would print the Super Token into the journal. Run this first, which shows it here: ${init}`,
  );
}

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

/** Names a file that the service will not see, because its unit has a temporary folder of its own (`PrivateTmp`). */
export function temporaryNotes({ binary, config }: ServiceTarget): string[] {
  const hidden = [binary, config].find((path) => /^\/(?:var\/)?tmp\//.test(path));
  return hidden === undefined
    ? []
    : [
        `the service will not start: it has its own temporary folder and cannot see ${hidden}; move it, for instance to /srv/node-server, and install the service again`,
      ];
}

function toFolder(path: string): RequiredAccess {
  return { path, bits: write | enter, verb: "write to" };
}

/** The advice for a path that the common `chown -R` must not touch. */
function adviceFor(path: string): string {
  return isSystemFolder(path) ? "; name a folder of its own in the configuration" : "";
}

/** Returns the account that was given, else the one that called sudo, else the present one. Root must be given. */
export function serviceUser(given: string | undefined, sudoUser: string | undefined): User {
  const name = given ?? sudoUser;
  const uid = process.getuid?.() ?? 0;
  const user = name === undefined ? userByUid(uid) : userByName(name);
  if (user === undefined)
    throw new Fault(
      "NotFound",
      name === undefined
        ? `the account with the number ${uid} has no name; name one with --user`
        : `there is no user ${name} on this machine; create one with \`useradd --system ${name}\`, or name another with --user`,
    );
  if (user.uid === 0 && given === undefined)
    throw new Fault(
      "Other",
      "the server should not run as root: name another user with --user (or --user root if that is intended)",
    );
  return user;
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
