import { existsSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { makeFolder } from "../base/local-fs/access.ts";
import { lowerPriority } from "../base/process.ts";
import { Task } from "../base/task.ts";
import { selfCommand } from "../build.ts";
import { databaseFile } from "../db/database.ts";
import type { MigrationHook } from "../db/migrations/migrate.ts";
import { type Logger, LogHub } from "../log/hub.ts";
import { type BackupResult, type BackupSource, isBackupOf, makeBackupFile } from "./make-backup.ts";

/** BackupSettings are when and where a server makes backups by itself. */
export interface BackupSettings {
  /** `backup_dir`, if it is set. */
  readonly folder: string | undefined;
  /** Undefined for never. */
  readonly everyMs: number | undefined;
  /** The number of backups that are kept. */
  readonly keep: number;
  readonly files: boolean;
  /** Whether a copy is made before a migration. */
  readonly beforeMigration: boolean;
}

/** BackupState is how the backups go that a server makes by itself. */
interface BackupState {
  readonly everyMs: number;
  /** When the newest one that there is was made. */
  readonly newestAtMs: number | undefined;
  /** Whether the last attempt failed. */
  readonly isFailing: boolean;
  /** Since the start. */
  readonly failures: number;
}

/** The pause after a failure, unless backups are made more often. */
const retryMs = 10 * 60_000;
/** The clock is read at least this often: a machine may sleep, and its time may be set. */
const maxWaitMs = 60_000;

/** Returns what to back up at present; `serverUuid` is the running server's. */
type PresentSource = () => BackupSource & { readonly serverUuid: string };

interface ScheduleOptions {
  readonly log: Logger;
  readonly clock: Clock;
}

/** BackupSchedule makes backups at the configured interval, one at a time, and removes old ones after a new one is complete. */
export class BackupSchedule {
  readonly #options: ScheduleOptions;
  readonly #task: Task;
  #settings: BackupSettings | undefined;
  #failedAtMs: number | undefined;
  #failures = 0;
  #newestAtMs: number | undefined;
  /** Undefined until the schedule is started. */
  #source: PresentSource | undefined;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#task = new Task({
      clock: options.clock,
      closeMs: Number.POSITIVE_INFINITY,
      run: (signal) => this.#makeIfDue(signal),
      failed: (error) => this.#failed(error),
    });
  }

  /** Begins to make backups of `source`. Before this call there may be nothing to read yet. */
  start(source: PresentSource): void {
    this.#source = source;
    this.#task.dueIn(0);
  }

  /** The settings in force; undefined before the first `apply`. */
  get settings(): BackupSettings | undefined {
    return this.#settings;
  }

  /** How the backups go; undefined if none are made. */
  get state(): BackupState | undefined {
    const everyMs = this.#settings?.everyMs;
    if (everyMs === undefined) return undefined;
    const isFailing = this.#failedAtMs !== undefined;
    return { everyMs, newestAtMs: this.#newestAtMs, isFailing, failures: this.#failures };
  }

  /** Applies new settings. A backup that runs continues. */
  apply(settings: BackupSettings): void {
    this.#settings = settings;
    this.#failedAtMs = undefined;
    this.#task.dueIn(0);
  }

  /** Ends a backup that runs; it leaves nothing behind. */
  close(): Promise<void> {
    return this.#task.close();
  }

  /** Makes a backup if it is time; resolves to the milliseconds until the next attempt, or to undefined if none is to be made. */
  async #makeIfDue(signal: AbortSignal): Promise<number | undefined> {
    const settings = this.#settings;
    const folder = this.#folder;
    if (settings?.everyMs === undefined || folder === undefined) return undefined;
    const waitMs = await this.#untilDue(folder, settings.everyMs);
    if (waitMs > 0) return Math.min(waitMs, maxWaitMs);
    await this.#make(folder, settings, signal);
    this.#failedAtMs = undefined;
    return Math.min(settings.everyMs, maxWaitMs);
  }

  #failed(error: unknown): number {
    const { log, clock } = this.#options;
    this.#failedAtMs = clock.now();
    this.#failures += 1;
    const pauseMs = Math.min(this.#settings?.everyMs ?? retryMs, retryMs);
    log.event("backup.failed", "the backup failed; the server tries again later", {
      folder: this.#folder?.path ?? "",
      reason: error instanceof Fault ? error.detail : messageOf(error),
      retry_ms: pauseMs,
    });
    return Math.min(pauseMs, maxWaitMs);
  }

  get #folder(): BackupFolder | undefined {
    return this.#source && new BackupFolder(this.#settings?.folder, this.#source());
  }

  async #untilDue(folder: BackupFolder, everyMs: number): Promise<number> {
    const now = this.#options.clock.now();
    // A time in the future is from before the clock was set back; it must not end the backups.
    const newest = (await folder.list()).find(({ madeAtMs }) => madeAtMs <= now);
    this.#newestAtMs = newest?.madeAtMs;
    const dueMs = newest === undefined ? now : newest.madeAtMs + everyMs;
    const retryAtMs = this.#failedAtMs === undefined ? 0 : this.#failedAtMs + Math.min(everyMs, retryMs);
    return Math.max(dueMs, retryAtMs) - now;
  }

  async #make(folder: BackupFolder, { files, keep }: BackupSettings, signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#options;
    const present = this.#source?.();
    if (present === undefined) return;
    await folder.create();
    const begin = performance.now();
    const madeAt = new Date(clock.now());
    const path = folder.newPath(madeAt);
    const result = await backUpInChild(
      path,
      { ...present, files: files ? present.files : undefined },
      signal,
    );
    this.#newestAtMs = madeAt.getTime();
    log.event("backup.made", "backup made", {
      path,
      bytes: result.compressedBytes,
      elapsed_ms: Math.round(performance.now() - begin),
      left_out: result.notes.length + result.otherTables.length,
    });
    try {
      await folder.prune(keep);
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      log.warn("old backups cannot be removed", { folder: folder.path, reason: messageOf(error) });
    }
  }
}

const ending = ".tar.zst";

/** FoundBackup is a backup that the server has made by itself. */
interface FoundBackup {
  readonly path: string;
  /** Milliseconds since 1970, from the name: a copied file keeps it. */
  readonly madeAtMs: number;
}

/** BackedUpServer is whose backups a folder holds. */
type BackedUpServer = Omit<BackupSource, "files"> & { readonly serverUuid: string };

/** BackupFolder is where a server keeps the backups that it makes by itself. Several servers may share the folder. */
class BackupFolder {
  readonly path: string;
  readonly #prefix: string;

  /** `configured` is `backup_dir`; without it the folder is `backup` beside the SQLite file, or beside the configuration. */
  constructor(configured: string | undefined, { database, configPath, serverUuid }: BackedUpServer) {
    const beside = dirname(databaseFile(database.database_url) ?? configPath);
    this.path = configured ?? join(beside, "backup");
    this.#prefix = `node-server-${serverUuid.slice(0, 8)}-`;
  }

  /** Creates the folder if it is missing; only its owner may enter it, because backups contain secrets. */
  async create(): Promise<void> {
    makeFolder(this.path, 0o700);
  }

  /** Returns a free path for a new backup. One before a migration is named after it, and `prune` leaves it alone. */
  newPath(madeAt: Date, migration?: string): string {
    const time = madeAt.toISOString().replace(/[-:]|\.\d+/g, "");
    const reason = migration === undefined ? "" : reasonIn(migration);
    for (let number = 1; ; number += 1) {
      const count = number === 1 ? "" : `-${number}`;
      const path = join(this.path, `${this.#prefix}${time}${reason}${count}${ending}`);
      if (!existsSync(path)) return path;
    }
  }

  /** Returns the path of the newest copy that this server made before a migration; undefined if there is none. */
  async newestBefore(migration: string): Promise<string | undefined> {
    const reason = reasonIn(migration);
    // Without the ending, the name of a second copy in the same second follows that of the first.
    const names = (await namesIn(this.path))
      .filter((name) => name.startsWith(this.#prefix) && name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length))
      .filter((name) => name.replace(/-\d+$/, "").endsWith(reason));
    const newest = names.sort().at(-1);
    return newest === undefined ? undefined : join(this.path, `${newest}${ending}`);
  }

  /** Returns this server's regular backups, the newest first. */
  async list(): Promise<FoundBackup[]> {
    const found: FoundBackup[] = [];
    for (const name of await namesIn(this.path)) {
      const madeAtMs = this.#timeOf(name);
      if (madeAtMs !== undefined) found.push({ path: join(this.path, name), madeAtMs });
    }
    return found.sort((a, b) => b.madeAtMs - a.madeAtMs);
  }

  /** Removes all regular backups but the newest `keep`. */
  async prune(keep: number): Promise<void> {
    for (const { path } of (await this.list()).slice(keep)) await removeFile(path);
  }

  #timeOf(name: string): number | undefined {
    if (!name.startsWith(this.#prefix) || !name.endsWith(ending)) return undefined;
    const time = name.slice(this.#prefix.length, -ending.length);
    const [, year, month, day, hour, minute, second] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:-\d+)?$/.exec(time) ?? [];
    const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    return Number.isNaN(ms) ? undefined : ms;
  }
}

/** The part of a name that tells before which migration the copy was made. */
function reasonIn(migration: string): string {
  return `-before-${migration.replace(/[^\w.-]/g, "_")}`;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

async function removeFile(path: string): Promise<void> {
  if ((await lstat(path)).isFile()) await rm(path, { force: true });
}

interface BeforeMigrationOptions {
  readonly source: BackedUpServer;
  /** `backup_dir`, if it is set. */
  readonly folder: string | undefined;
  readonly log: Logger;
  /** Receives the path of the backup before the first migration is applied. */
  onMade?(path: string): Promise<void>;
}

/**
 * `copyBeforeMigration` makes a backup of a database, without files, before migrations change it: an older version of the server
 * may refuse the migrated database, and then the backup is the way back. If it fails, the migrations are not applied. A start whose
 * migration fails leaves its copy to the next one, unless the database changes in between.
 */
export function copyBeforeMigration({
  source,
  folder: configured,
  log,
  onMade,
}: BeforeMigrationOptions): MigrationHook {
  return async ([first = "", ...more]) => {
    const before = more.at(-1) ?? first;
    const folder = new BackupFolder(configured, source);
    const content = { ...source, files: undefined };
    const { signal } = new AbortController();
    const begin = performance.now();
    let path: string;
    try {
      const earlier = await folder.newestBefore(before);
      if (earlier !== undefined && (await isBackupOfInChild(earlier, content, signal))) {
        path = earlier;
        log.info("an earlier start has already copied the database as it is before its migration", {
          path,
          before,
        });
      } else {
        await folder.create();
        path = folder.newPath(new Date(), before);
        const result = await backUpInChild(path, content, signal);
        log.event("backup.made", "the database was copied before its migration", {
          path,
          bytes: result.compressedBytes,
          elapsed_ms: Math.round(performance.now() - begin),
          left_out: result.otherTables.length,
          before,
        });
      }
    } catch (error) {
      const why = error instanceof Fault ? error.detail : messageOf(error);
      throw new Fault(
        "IoError",
        `the backup before the migration ${before} failed in ${folder.path}: ${why}; nothing was changed. Free some space, set backup_dir to a folder with enough, or set backup_before_migration = false to migrate without a backup`,
        {},
        { cause: error },
      );
    }
    await onMade?.(path);
  };
}

interface Order {
  readonly path: string;
  readonly source: BackupSource;
  /** A question: whether the backup at `path` is one of the present state. Nothing is written. */
  readonly compares?: true;
}

type Reply<T = unknown> = { readonly result: T } | { readonly error: string };

/**
 * `backUpInChild` makes a backup in a process of its own, so that neither reading nor compression takes time from the event loop.
 * If `signal` fires, the process is ended and nothing is left.
 */
export function backUpInChild(
  path: string,
  source: BackupSource,
  signal: AbortSignal,
): Promise<BackupResult> {
  return runChild<BackupResult>({ path, source }, signal);
}

/** `isBackupOfInChild` does in a process of its own what `isBackupOf` does. */
function isBackupOfInChild(path: string, source: BackupSource, signal: AbortSignal): Promise<boolean> {
  return runChild<boolean>({ path, source, compares: true }, signal);
}

/** The order is sent through a pipe, because it may contain a database password. */
async function runChild<T>(order: Order, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const child = Bun.spawn(selfCommand("backup-child"), {
    stdin: new Blob([JSON.stringify(order)]),
    stdout: "pipe",
    stderr: "ignore",
  });
  const stop = () => child.kill("SIGTERM");
  signal.addEventListener("abort", stop);
  try {
    const [output] = await Promise.all([child.stdout.text(), child.exited]);
    signal.throwIfAborted();
    const reply = parseReply<T>(output);
    if ("error" in reply) throw new Fault("Other", reply.error);
    return reply.result;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function parseReply<T>(output: string): Reply<T> {
  try {
    return JSON.parse(output) as Reply<T>;
  } catch {
    return { error: "the process that makes the backup was ended" };
  }
}

interface ChildOptions {
  readonly signal: AbortSignal;
  /** Turns an error into a message for people. */
  explain(error: unknown): string | undefined;
}

/** `runBackupChild` runs the child's side: it reads the order from standard input and prints the reply. */
export async function runBackupChild({ signal, explain }: ChildOptions): Promise<void> {
  lowerPriority(10);
  const { path, source, compares } = JSON.parse(await Bun.stdin.text()) as Order;
  const options = { hub: new LogHub(), signal };
  let reply: Reply;
  try {
    reply = { result: await (compares ? isBackupOf : makeBackupFile)(path, source, options) };
  } catch (error) {
    reply = { error: error instanceof Fault ? error.detail : (explain(error) ?? messageOf(error)) };
  }
  process.stdout.write(JSON.stringify(reply));
}
