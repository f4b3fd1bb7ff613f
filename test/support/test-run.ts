import { existsSync } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  statfs,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import { secondsWithChildren } from "./proc.ts";

// What all processes of a test run share is in one folder: files that take long to make (`madeOnce`), and servers that one of them has
// started (`startedOnce`). `npm test` makes the folder and closes it at the end (`closeRun`). A `bun test` that is started alone
// has a folder of its own, and closes it after its last file. Whoever made the folder may be killed: then a watchdog closes it.

/** Longer than a busy machine takes to compile the server. */
const maxMakeMs = 170_000;
/** A server that has ended may stay in the list of processes for good, where nobody waits for it. */
const maxEndMs = 10_000;
/** The folder that `npm test` has made. */
const given = process.env.NODE_SERVER_TEST_SHARED;
/** Whether this process belongs to a run of `npm test`, which removes the folder of temporary files at its end. */
export const hasRunner = given !== undefined;

let folder: Promise<string> | undefined;
let closers: Array<() => Promise<unknown>> = [];
const started = new Map<string, Promise<unknown>>();

/** sharedFolder is the folder of this run. Every user can reach it. */
function sharedFolder(): Promise<string> {
  folder ??= given ? Promise.resolve(given) : openRun();
  return folder;
}

/** A run needs a fraction of this; the rest of the machine needs memory, too. */
const minMemoryBytes = 4 * 1024 ** 3;

/**
 * memoryFolder is a folder in memory for a run, where new files and their syncs cost a tenth of those on a disk. Undefined where
 * there is none, or too little room, as in many containers, or where no program may be started from it.
 */
export async function memoryFolder(): Promise<string | undefined> {
  const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  const [, folder, kind, options = ""] =
    mounts
      .split("\n")
      .find((line) => line.split(" ")[1] === "/dev/shm")
      ?.split(" ") ?? [];
  if (folder === undefined || kind !== "tmpfs" || options.split(",").includes("noexec")) return undefined;
  const { bavail, bsize } = await statfs(folder);
  const [, availableKib] = /^MemAvailable: +(\d+) kB$/m.exec(await readFile("/proc/meminfo", "utf8")) ?? [];
  return Math.min(bavail * bsize, Number(availableKib) * 1024) > minMemoryBytes ? folder : undefined;
}

/** Leads from the folder of a run in memory to its folder on the disk, for stories about what a disk does. */
const diskName = "disk";

/** openRun makes the folder of a run, which holds for this process, too. This process must close it with `closeRun`; when it ends without, a watchdog does. */
export async function openRun(place = tmpdir()): Promise<string> {
  const path = await mkdtemp(join(place, "node-server-shared-"));
  await chmod(path, 0o755);
  await mkdir(join(path, "tmp"));
  await chmod(join(path, "tmp"), 0o1777);
  if (place !== tmpdir()) {
    const disk = await mkdtemp(join(tmpdir(), "node-server-disk-"));
    await chmod(disk, 0o1777);
    await symlink(disk, join(path, diskName));
  }
  const close = `import(${JSON.stringify(import.meta.path)}).then(({ closeRun }) => closeRun(${JSON.stringify(path)}))`;
  const lines = `while kill -0 ${process.pid} 2>&-; do sleep 1; done; [ ! -d "$1" ] || exec "$2" -e "$3"`;
  Bun.spawn(["sh", "-c", lines, "watchdog", path, process.execPath, close], {
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
  }).unref();
  folder = Promise.resolve(path);
  return path;
}

/** diskOf is the folder on the disk of a run that has its other files in memory. */
async function diskOf(path: string): Promise<string | undefined> {
  return readlink(join(path, diskName)).catch(() => undefined);
}

/** environmentOf returns the variables for the processes of a run: temporary files go with the run, too. */
export async function environmentOf(
  path: string,
  { isOnDisk = false } = {},
): Promise<Record<string, string>> {
  const disk = isOnDisk ? await diskOf(path) : undefined;
  return { NODE_SERVER_TEST_SHARED: path, TMPDIR: disk ?? join(path, "tmp") };
}

/**
 * atRunEnd closes what the files of this process share, such as a browser. `bun test` calls its hooks after the last file, and each of
 * its workers (`--parallel`) after every file: so make again what is needed again.
 */
export function atRunEnd(close: () => Promise<unknown>): void {
  closers.push(close);
}

/** closeShared is called by the preloaded file. It leaves the folder that `npm test` has made to `npm test`. */
export async function closeShared(): Promise<void> {
  const closing = closers;
  closers = [];
  await Promise.all(closing.map((close) => close()));
  if (hasRunner || folder === undefined) return;
  const path = await folder;
  folder = undefined;
  started.clear();
  await closeRun(path);
}

/** madeOnce makes a file or folder, or waits until another process of the run has made it; returns its path. Nobody may change it. */
export async function madeOnce(name: string, make: (path: string) => Promise<unknown>): Promise<string> {
  const path = join(await sharedFolder(), name);
  const lock = `${path}.lock`;
  for (const begin = Date.now(); !existsSync(path) && !(await takeLock(lock)); await Bun.sleep(20))
    if (Date.now() > begin + maxMakeMs) throw new Error(`another process has not made ${path} in time`);
  if (existsSync(path)) return path;
  try {
    await make(`${path}.new`);
    await rename(`${path}.new`, path);
  } finally {
    await rm(lock);
  }
  return path;
}

/** takeLock returns whether this process may go on. The lock of a process that was killed is removed, for the next attempt. */
async function takeLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const holder = Number(await readFile(lock, "utf8").catch(() => ""));
  if (holder > 0 && !isAlive(holder)) await rm(lock, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Service is a server that runs until the end of the run. */
interface Service<T> {
  readonly pid: number;
  /** The signal that ends it at once. */
  readonly endSignal: NodeJS.Signals;
  /** What other processes need to know to use it. */
  readonly details: T;
  /** Files outside of its folder that it leaves behind. */
  readonly leaves?: readonly string[];
}

/**
 * startedOnce starts a server for all processes of the run, or returns the details of the one that another process has started. Its
 * files belong into `folder`, which goes with the run. Start it detached, so that it outlives the process that has started it.
 */
export function startedOnce<T>(name: string, start: (folder: string) => Promise<Service<T>>): Promise<T> {
  const known = started.get(name) as Promise<T> | undefined;
  if (known !== undefined) return known;
  const details = detailsOf(name, start);
  started.set(name, details);
  return details;
}

async function detailsOf<T>(name: string, start: (folder: string) => Promise<Service<T>>): Promise<T> {
  const own = await sharedFolder();
  const file = await madeOnce(`${name}.service`, async (path) => {
    const service = await start(await mkdtemp(join(own, `${name}-`)));
    await writeFile(path, JSON.stringify(service));
  });
  return (JSON.parse(await readFile(file, "utf8")) as Service<T>).details;
}

/** closeRun ends the servers of a run and removes its folder; returns the processor time that the servers took, in seconds. */
export async function closeRun(path: string): Promise<number> {
  const names = (await readdir(path)).filter((name) => name.endsWith(".service"));
  const services = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(path, name), "utf8")) as Service<unknown>),
  );
  const running = services.filter(({ pid }) => isAlive(pid));
  const seconds = await Promise.all(running.map(secondsWithChildren));
  for (const { pid, endSignal } of running) process.kill(pid, endSignal);
  const end = Date.now() + maxEndMs;
  while (Date.now() < end && running.some(({ pid }) => isAlive(pid))) await Bun.sleep(10);
  for (const file of services.flatMap(({ leaves = [] }) => leaves)) await rm(file, { force: true });
  // A story that was ended leaves its file system mounted, and the folder would be busy.
  for (const place of [await diskOf(path), path]) {
    if (place === undefined) continue;
    for (const folder of await mountedBelow(place)) Bun.spawnSync(["umount", "--lazy", folder]);
    await rm(place, { recursive: true, force: true });
  }
  return seconds.reduce((sum, next) => sum + next, 0);
}

/** mountedBelow returns the folders below a path that are file systems of their own, where the system lists them (Linux). */
async function mountedBelow(path: string): Promise<string[]> {
  const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  return mounts.split("\n").flatMap((line) => {
    const [, folder = ""] = line.split(" ");
    return folder.startsWith(`${path}/`) ? folder : [];
  });
}
