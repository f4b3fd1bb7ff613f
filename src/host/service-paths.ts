import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { shownDatabase } from "../base/database-url.ts";
import { Fault } from "../base/fault.ts";
import {
  accessBits,
  createFolderCommand,
  isSystemFolder,
  mayAccess,
  shellQuoted,
  type User,
} from "../base/local-fs/access.ts";
import { isInside } from "../base/local-fs/folder.ts";
import { type ConfiguredFile, configuredFiles, folderModeOf } from "../config/paths.ts";
import type { Config } from "../config/schema.ts";
import { probeDatabase } from "../db/probe.ts";
import { LogHub } from "../log/hub.ts";

/** ServiceTarget is what a service runs, and as whom. */
export interface ServiceTarget {
  readonly binary: string;
  readonly config: string;
  readonly user: User;
}

/** Lists what the server uses of the files and folders in its configuration. */
export function usedFiles(config: Config): ConfiguredFile[] {
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
export function isSharedFolder(path: string): boolean {
  return isSystemFolder(path) || programFolders.test(path);
}

/** Whether owner, group and mode let the account replace the binary, as self-update does. */
export function mayReplaceBinary({ binary, user }: ServiceTarget): boolean {
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
