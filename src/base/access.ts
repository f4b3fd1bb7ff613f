import { accessSync, constants, type Stats, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf, messageOf } from "./fault.ts";
import { nameOfUid, type User } from "./users.ts";

/** File systems of the kernel, where no file can be made, whatever their permissions say: proc, sysfs, cgroup2. */
const kernelFileSystems = new Set([0x9fa0, 0x62656572, 0x63677270]);

/** Why this process cannot write into a folder, or make it, and what to do; undefined if it can. Creates nothing. */
export function folderProblem(path: string): string | undefined {
  const found = statOrReason(path);
  if (typeof found === "string") return found;
  if (found === undefined) {
    const above = dirname(path);
    return above === path ? `${path} does not exist` : folderProblem(above);
  }
  if (!found.isDirectory()) return `${path} is a file, not a folder; name another path`;
  if (kernelFileSystems.has(statfsSync(path).type))
    return `no file can be made in ${path}; name another path`;
  return permissionProblem(path, found, constants.W_OK | constants.X_OK);
}

/** The same for a file that is to be written: it may exist, or its folder must allow it. */
export function fileProblem(path: string): string | undefined {
  const found = statOrReason(path);
  if (typeof found === "string") return found;
  if (found === undefined) return folderProblem(dirname(path));
  if (found.isDirectory()) return `${path} is a folder, not a file; name another path`;
  return permissionProblem(path, found, constants.R_OK | constants.W_OK);
}

/** Whether an account other than this process' could write, by owner, group and mode alone. */
export function mayWrite({ uid, gids }: User, { uid: owner, gid, mode }: Stats): boolean {
  if (uid === 0) return true;
  if (uid === owner) return (mode & 0o200) !== 0;
  return (mode & (gids.includes(gid) ? 0o020 : 0o002)) !== 0;
}

function permissionProblem(path: string, stats: Stats, wanted: number): string | undefined {
  try {
    accessSync(path, wanted);
    return undefined;
  } catch (error) {
    if (codeOf(error) === "EROFS")
      return `${path} is on a read-only file system; mount it writable or name another path`;
    const owner = nameOfUid(stats.uid);
    const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
    const me = currentUser();
    return `${path} cannot be written: it belongs to ${owner} with mode ${mode}, and this runs as ${me}; run \`chown ${me} ${path}\``;
  }
}

function statOrReason(path: string): Stats | string | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ENOTDIR")
      return folderProblem(dirname(path)) ?? `${dirname(path)} is not a folder`;
    if (codeOf(error) === "EACCES")
      return `${path} cannot be reached: ${currentUser()} may not enter a folder above it; change its mode or name another path`;
    return messageOf(error);
  }
}

function currentUser(): string {
  const uid = process.geteuid?.();
  return uid === undefined ? "this user" : nameOfUid(uid);
}
