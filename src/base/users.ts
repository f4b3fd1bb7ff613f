import { readFileSync } from "node:fs";

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

/** `nameOfUid` is the name of an account, or its number if it has no name, as in many containers; `chown` takes both. */
export function nameOfUid(uid: number): string {
  return userByUid(uid)?.name ?? String(uid);
}

/** `groupId` is the number of a group, given by its name or number; undefined if there is none with this name. */
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
