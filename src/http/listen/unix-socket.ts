import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { connect } from "node:net";
import { basename, dirname, join } from "node:path";
import type { Server } from "bun";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { currentUser, groupId } from "../../base/local-fs/access.ts";

/** SocketAccess says who may connect to a Unix socket. */
export interface SocketAccess {
  readonly mode: number;
  /** A name or a number; undefined keeps the group of the process. */
  readonly group: string | undefined;
}

/** The kernel takes 108 bytes as the path of a socket. Clients can shorten the path to the folder, but not the name. */
const maxNameBytes = 90;

/**
 * bindUnixSocket binds in a folder that only this user can enter, and moves the socket into place once it has its mode and group. So
 * there is no moment in which others can connect, and the umask of the process, which threads that create files share, stays as it is.
 */
export function bindUnixSocket<T>(
  { path, access }: { readonly path: string; readonly access: SocketAccess },
  serve: (path: string) => Server<T>,
): Server<T> {
  if (Buffer.byteLength(basename(path)) > maxNameBytes)
    throw new Error(`its name is longer than ${maxNameBytes} bytes; change unix_socket_path`);
  const folder = mkdtempSync(join(dirname(path), ".sock-"));
  const beside = join(folder, "s");
  try {
    const server = serve(beside);
    try {
      setSocketAccess(beside, access);
      renameSync(beside, path);
    } catch (error) {
      void server.stop(true);
      throw error;
    }
    return server;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** setSocketAccess throws if there is no such group, or if this user may not use it; nothing is changed then. */
export function setSocketAccess(path: string, { mode, group }: SocketAccess): void {
  const gid = group === undefined ? process.getegid?.() : groupId(group);
  if (gid === undefined && group !== undefined) throw new Fault("InvalidInput", noSuchGroup(group));
  if (gid !== undefined) changeGroup(path, gid, group);
  chmodSync(path, mode);
}

/** Closes the socket to all groups while its group changes: the new one must not get the rights of the old one. */
function changeGroup(path: string, gid: number, group: string | undefined): void {
  const before = lstatSync(path);
  if (before.gid === gid) return;
  chmodSync(path, 0o600);
  try {
    chownSync(path, -1, gid);
  } catch (error) {
    chmodSync(path, before.mode & 0o777);
    if (codeOf(error) !== "EPERM") throw error;
    throw new Fault("IoError", `the socket cannot be given the group ${notMember(group ?? String(gid))}`);
  }
}

/** groupProblem returns why this process cannot give the socket at a path to a group; undefined if it can. It changes nothing. */
export function groupProblem(path: string, group: string): string | undefined {
  const gid = groupId(group);
  if (gid === undefined) return noSuchGroup(group);
  const own = [process.getegid?.(), ...(process.getgroups?.() ?? []), inheritedGroup(dirname(path))];
  if (own.includes(gid) || mayChown()) return undefined;
  return `the socket cannot be given the group ${notMember(group)}`;
}

/** inheritedGroup returns the group that new files in a folder get from it (setgid); undefined if they get that of the process. */
function inheritedGroup(folder: string): number | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats !== undefined) return (stats.mode & 0o2000) === 0 ? undefined : stats.gid;
  return dirname(folder) === folder ? undefined : inheritedGroup(dirname(folder));
}

/** mayChown returns whether this process may give files to any group: root, unless a container took that right away. */
function mayChown(): boolean {
  const capabilities = process.platform === "linux" ? readFileSync("/proc/self/status", "utf8") : "";
  const [, effective] = /^CapEff:\s*([0-9a-f]+)$/m.exec(capabilities) ?? [];
  if (effective === undefined) return process.geteuid?.() === 0;
  // CAP_CHOWN is the first of them.
  return (BigInt(`0x${effective}`) & 1n) === 1n;
}

function noSuchGroup(group: string): string {
  return `there is no group ${group}; create it, or name another in unix_socket_group`;
}

function notMember(group: string): string {
  const me = currentUser();
  return `${group}: ${me} is not a member of it; run \`usermod -aG ${group} ${me}\` and restart the server, or change unix_socket_group`;
}

/** socketFileOf identifies the file of a socket; undefined if there is none. */
export function socketFileOf(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/** removeOwnSocket removes a socket file, unless another process has put its own there. */
export function removeOwnSocket(path: string, own: string | undefined): void {
  if (own !== undefined && socketFileOf(path) === own) rmSync(path, { force: true });
}

/**
 * clearStaleSocket removes a socket file whose server is gone. Throws if a server answers there, or if the file is not a socket.
 * With `takesOver` a socket stays: the new one is moved over it.
 */
export async function clearStaleSocket(
  path: string,
  { takesOver }: { readonly takesOver: boolean },
): Promise<void> {
  const refuse = (why: string) => new Fault("IoError", `cannot listen on ${path}: ${why}`, { path });
  try {
    mkdirSync(dirname(path), { recursive: true });
    if (!lstatSync(path).isSocket())
      throw refuse("a file that is not a socket exists there; move it or change unix_socket_path");
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (codeOf(error) === "ENOENT") return;
    throw refuse(messageOf(error));
  }
  if (takesOver) return;
  const alive = await new Promise<boolean>((resolve) => {
    const probe = connect(path, () => resolve(true)).on("error", () => resolve(false));
    probe.unref();
  });
  if (alive) throw refuse("another program listens there; stop it or change unix_socket_path");
  rmSync(path, { force: true });
}
