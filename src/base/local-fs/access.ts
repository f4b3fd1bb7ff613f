import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  lchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  type Stats,
  statfsSync,
  statSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { atMost } from "../clock.ts";
import { codeOf, messageOf } from "../fault.ts";

/** File systems of the kernel (proc, sysfs, cgroup2): no file can be created in them, even where the permissions allow it. */
const kernelFileSystems = new Set([0x9fa0, 0x62656572, 0x63677270]);

/** AccessProblem says why a path cannot be used, and what to do about it. */
export interface AccessProblem {
  /** The path at fault: the requested one, or a folder above it. */
  readonly path: string;
  /** The reason, as the end of a sentence that begins with the path: `is a file, not a folder; name another path`. */
  readonly why: string;
  /** True if owner and mode are the cause, and not the kind of file or its file system. */
  readonly isDenied?: true;
}

/** Folders of the system: a `chown` of one would break the machine. */
const systemFolders = /^\/([^/]*|(usr|var)\/[^/]+|usr\/local\/[^/]+)$/;

/** `isSystemFolder` returns whether a folder belongs to the system and must keep its owner: `/srv`, `/var/log`. */
export function isSystemFolder(path: string): boolean {
  return systemFolders.test(path);
}

/** The mode of a folder that an operator creates, unless what it holds needs another one. */
const usualMode = 0o750;

/** `createFolderCommand` returns the command that creates a folder for an account; the folders above keep owner and mode. */
export function createFolderCommand(path: string, user: string, mode = usualMode): string {
  return `install -d -o ${user} -m ${mode.toString(8)} ${shellQuoted(path)}`;
}

/**
 * `folderProblem` returns why this process cannot write into a folder or create it; undefined if it can. It creates nothing. `mode` is
 * for the command that creates a missing folder.
 */
export function folderProblem(path: string, mode = usualMode): AccessProblem | undefined {
  const found = statOrProblem(path);
  if (found !== undefined && "why" in found) return found;
  if (found === undefined) return creationProblem(path, mode);
  if (!found.isDirectory()) return { path, why: "is a file, not a folder; name another path" };
  if (kernelFileSystems.has(statfsSync(path).type))
    return { path, why: "is a folder of the kernel, in which no file can be created; name another path" };
  return permissionProblem(path, found, constants.W_OK | constants.X_OK);
}

/** `creationProblem` names the missing folder itself: the one above may belong to the system, and must not change its owner. */
function creationProblem(path: string, mode: number): AccessProblem | undefined {
  const above = dirname(path);
  if (above === path) return { path, why: "does not exist" };
  const problem = folderProblem(above, mode);
  if (!problem?.isDenied) return problem;
  const me = currentUser();
  const why = `does not exist, and ${me} may not create it; run \`${createFolderCommand(path, me, mode)}\` as root`;
  return { path, why, isDenied: true };
}

/** `fileProblem` returns why this process cannot read and write a file, or create one that does not exist; undefined if it can. */
export function fileProblem(path: string): AccessProblem | undefined {
  const found = statOrProblem(path);
  if (found !== undefined && "why" in found) return found;
  if (found === undefined) return folderProblem(dirname(path));
  if (found.isDirectory()) return { path, why: "is a folder, not a file; name another path" };
  return permissionProblem(path, found, constants.R_OK | constants.W_OK);
}

/** `readProblem` returns why this process cannot read a file; undefined if it can, and if the file does not exist. */
export function readProblem(path: string): AccessProblem | undefined {
  const found = statOrProblem(path);
  if (found === undefined || "why" in found) return found;
  if (found.isDirectory()) return { path, why: "is a folder, not a file; name another path" };
  if (!found.isFile())
    return { path, why: "is a pipe, socket or device, not a regular file; name another path" };
  return permissionProblem(path, found, constants.R_OK);
}

/**
 * Subject is what an access message is about: `the database`, its path, and what failed if the cause is another path (`cannot be
 * created`).
 */
interface Subject {
  readonly name: string;
  readonly path: string;
  readonly failed: string;
}

/** `accessMessage` writes one sentence that names each path once. */
export function accessMessage({ name, path, failed }: Subject, problem: AccessProblem): string {
  return problem.path === path
    ? `${name} ${path} ${problem.why}`
    : `${name} ${path} ${failed}: ${problem.path} ${problem.why}`;
}

/** `accessBits` are the permission bits of one class (owner, group or others) of a file mode. */
export const accessBits = { read: 4, write: 2, enter: 1 } as const;

/** `mayAccess` returns whether an account has all `wanted` rights, by owner, group and mode. It knows no ACLs and no capabilities. */
export function mayAccess({ uid, gids }: User, { uid: owner, gid, mode }: Stats, wanted: number): boolean {
  if (uid === 0) return true;
  const shift = uid === owner ? 6 : gids.includes(gid) ? 3 : 0;
  return ((mode >> shift) & wanted) === wanted;
}

/** `modeText` writes a mode in the form that `chmod` takes: `0644`. */
function modeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** `shellQuoted` quotes an argument, if necessary, for a command that people paste into a shell. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function permissionProblem(path: string, stats: Stats, wanted: number): AccessProblem | undefined {
  try {
    accessSync(path, wanted);
    return undefined;
  } catch (error) {
    if (codeOf(error) === "EROFS")
      return { path, why: "is on a read-only file system; mount it writable or name another path" };
    const verb = wanted === constants.R_OK ? "read" : "written";
    const owner = nameOfUid(stats.uid);
    return {
      path,
      why: `cannot be ${verb}: it belongs to ${owner} with mode ${modeText(stats.mode)}, and this runs as ${currentUser()}; ${remedyFor(path, stats, wanted)}`,
      isDenied: true,
    };
  }
}

/** `remedyFor` returns what to do about a path whose owner or mode does not allow what is wanted. */
function remedyFor(path: string, stats: Stats, wanted: number): string {
  if (stats.uid !== process.geteuid?.())
    return isSystemFolder(path)
      ? "name a folder of its own, or a file in one"
      : `${otherUserAdvice(stats.uid)}run \`chown ${stats.isDirectory() ? "-R " : ""}${currentUser()} ${shellQuoted(path)}\``;
  const needed = stats.isDirectory() ? 7 : wanted;
  const lacking = Object.entries({ r: 4, w: 2, x: 1 }).filter(
    ([, bit]) => (needed & bit) !== 0 && ((stats.mode >> 6) & bit) === 0,
  );
  return lacking.length === 0
    ? "its access control list (`getfacl`) or its attributes (`lsattr`) forbid it; change those or name another path"
    : `run \`chmod u+${lacking.map(([letter]) => letter).join("")} ${shellQuoted(path)}\``;
}

/** A command on the files of a server that runs as another user is mostly meant to run as that user. */
function otherUserAdvice(owner: number): string {
  return owner === 0 ? "" : `run this as ${nameOfUid(owner)} (\`sudo -u ${nameOfUid(owner)}\`), or `;
}

function statOrProblem(path: string): Stats | AccessProblem | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ENOTDIR")
      return folderProblem(dirname(path)) ?? { path: dirname(path), why: "is not a folder" };
    if (codeOf(error) === "EACCES")
      return {
        path,
        why: `cannot be reached: ${currentUser()} may not enter a folder above it; change its mode or name another path`,
      };
    return { path, why: `cannot be used: ${messageOf(error)}` };
  }
}

/** `currentUser` returns the name of the account that this process runs as. */
export function currentUser(): string {
  const uid = process.geteuid?.();
  return uid === undefined ? "this user" : nameOfUid(uid);
}

/**
 * `otherOwner` returns the account that a file belongs to, as `sudo -u` takes it, if this process is root and the account is not.
 * Undefined for a file that does not exist.
 */
export function otherOwner(path: string): string | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const uid = statSync(path, { throwIfNoEntry: false })?.uid ?? 0;
  return uid === 0 ? undefined : (userByUid(uid)?.name ?? `#${uid}`);
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * `inheritedOwner` returns the owner that something at `path` gets if root creates or replaces it: that of what exists there, or of the
 * nearest folder above. A server that runs as another user must be able to write it. Undefined if this process is not root.
 */
export function inheritedOwner(path: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  for (let at = resolve(path); ; at = dirname(at)) {
    const stats = statSync(at, { throwIfNoEntry: false });
    if (stats !== undefined) return { uid: stats.uid, gid: stats.gid };
    if (at === dirname(at)) return undefined;
  }
}

/** `makeFolder` creates a folder and the missing ones above it, all with the inherited owner. */
export function makeFolder(path: string, mode = 0o777): void {
  const whole = resolve(path);
  const owner = inheritedOwner(whole);
  const first = mkdirSync(whole, { recursive: true, mode });
  if (owner === undefined || first === undefined) return;
  // Without following links: another user may own the folder and put one there.
  for (let at = whole; at.length >= first.length; at = dirname(at)) lchownSync(at, owner.uid, owner.gid);
}

/**
 * `makeFile` creates an empty file, as root with the owner that `like` has or inherits. A file that exists stays as it is. The target
 * of a link gets no other owner: whoever can put a link there would get a file of theirs anywhere.
 */
export function makeFile(path: string, mode: number, like = path): void {
  const owner = inheritedOwner(like);
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (!existsSync(path)) closeSync(openSync(path, "a", mode));
    return;
  }
  try {
    if (owner !== undefined) fchownSync(file, owner.uid, owner.gid);
  } finally {
    closeSync(file);
  }
}

/** User is an account of the operating system. */
export interface User {
  readonly name: string;
  readonly uid: number;
  /** The groups, the primary one first. */
  readonly gids: readonly number[];
}

/** `userByName` finds an account by its name; undefined if there is none. */
export function userByName(name: string): User | undefined {
  return find(name, ([found]) => found === name);
}

/** `userByUid` finds an account by its number. (`$USER` is unset in containers, cron and cloud-init.) */
export function userByUid(uid: number): User | undefined {
  return find(String(uid), ([, , found]) => found === String(uid));
}

/** `nameOfUid` returns the name of an account, or its number if it has no name, as in many containers; `chown` takes both. */
function nameOfUid(uid: number): string {
  return userByUid(uid)?.name ?? String(uid);
}

/** `groupId` returns the number of a group, given by its name or number; undefined if there is none with this name. */
export function groupId(group: string): number | undefined {
  if (/^\d+$/.test(group)) return Number(group);
  const [, , gid] = rowsOf("group").find(([name]) => name === group) ?? askDirectory("group", group) ?? [];
  return gid === undefined ? undefined : Number(gid);
}

function find(key: string, matches: (row: string[]) => boolean): User | undefined {
  const [name, , uid, gid] = rowsOf("passwd").find(matches) ?? askDirectory("passwd", key) ?? [];
  if (name === undefined || uid === undefined || gid === undefined) return undefined;
  const others = rowsOf("group").filter(([, , , members]) => members?.split(",").includes(name));
  return { name, uid: Number(uid), gids: [gid, ...others.map(([, , other]) => other)].map(Number) };
}

function rowsOf(database: "passwd" | "group"): string[][] {
  try {
    return readFileSync(`/etc/${database}`, "utf8").split("\n").map(fieldsOf);
  } catch {
    // A system without the file has no names.
    return [];
  }
}

/** `askDirectory` finds accounts and groups of a directory service (LDAP, systemd-homed), which are not in the file. */
function askDirectory(database: "passwd" | "group", key: string): string[] | undefined {
  if (Bun.which("getent") === null || !/^[\w.@-]+$/.test(key)) return undefined;
  const { exitCode, stdout } = Bun.spawnSync(["getent", database, key]);
  return exitCode === 0 ? fieldsOf(stdout.toString().trim()) : undefined;
}

function fieldsOf(line: string): string[] {
  return line.split(":");
}

/** Without O_NONBLOCK, opening a FIFO would wait for its writer. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK;

/** The time within which the disk or network mount must deliver a small file. */
const readTimeoutMs = 10_000;

/** The code of the error for a path that leads to a folder, FIFO, socket or device. */
const notRegularCode = "ENOTREGULAR";

/** `readRegularFile` reads a regular file as UTF-8, as `readRegularBytes` does. Invalid bytes become U+FFFD. */
export async function readRegularFile(path: string): Promise<string> {
  return (await readRegularBytes(path)).toString("utf8");
}

/**
 * `readRegularBytes` reads a regular file and follows links. Fails with `ENOTREGULAR` for anything else, and with `ETIMEDOUT` if
 * the disk does not answer, so that no caller waits for ever.
 */
export async function readRegularBytes(path: string): Promise<Buffer> {
  const bytes = await atMost(readOpened(path), { ms: readTimeoutMs });
  if (bytes !== undefined) return bytes;
  throw failure("ETIMEDOUT", `the disk did not answer within ${readTimeoutMs / 1000} s`);
}

async function readOpened(path: string): Promise<Buffer> {
  await using file = await open(path, openFlags);
  if (!(await file.stat()).isFile()) throw notRegular();
  return await file.readFile();
}

/** `readRegularFileSync` reads a regular file as UTF-8. It blocks the process while the disk does not answer. */
export function readRegularFileSync(path: string): string {
  const file = openSync(path, openFlags);
  try {
    if (!fstatSync(file).isFile()) throw notRegular();
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function notRegular(): Error {
  return failure(notRegularCode, "it is not a regular file");
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
