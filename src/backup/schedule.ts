import { existsSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { makeFolder } from "../base/local-fs/access.ts";
import { Task } from "../base/task.ts";
import { databaseFile } from "../db/database.ts";
import type { Logger } from "../log/hub.ts";
import { backUpInChild } from "./backup-process.ts";
import type { BackupSource } from "./make-backup.ts";

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
    const path = folder.newPath(new Date(clock.now()));
    const result = await backUpInChild(
      path,
      { ...present, files: files ? present.files : undefined },
      signal,
    );
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
export type BackedUpServer = Omit<BackupSource, "files"> & { readonly serverUuid: string };

/** BackupFolder is where a server keeps the backups that it makes by itself. Several servers may share the folder. */
export class BackupFolder {
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
