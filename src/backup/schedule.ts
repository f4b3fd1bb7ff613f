import type { Clock } from "../base/clock.ts";
import { codeOf, Fault, messageOf } from "../base/fault.ts";
import type { Logger } from "../log/hub.ts";
import { BackupFolder } from "./backup-folder.ts";
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

export interface ScheduleOptions {
  /** What to back up at present; `serverUuid` is the running server's. */
  source(): BackupSource & { readonly serverUuid: string };
  readonly log: Logger;
  readonly clock: Clock;
}

/** BackupSchedule makes backups at the configured interval, one at a time, and removes old ones after a new one is complete. */
export class BackupSchedule {
  readonly #options: ScheduleOptions;
  #settings: BackupSettings | undefined;
  #timer: Disposable | undefined;
  #running: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  #failedAtMs: number | undefined;
  #isStarted = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /** Begins to make backups. Before this call there may be nothing to read yet. */
  start(): void {
    this.#isStarted = true;
    this.#wait(0);
  }

  /** The settings in force; undefined before the first `apply`. */
  get settings(): BackupSettings | undefined {
    return this.#settings;
  }

  /** Applies new settings. A backup that runs continues. */
  apply(settings: BackupSettings): void {
    this.#settings = settings;
    this.#failedAtMs = undefined;
    this.#wait(0);
  }

  /** Ends a backup that runs; it leaves nothing behind. */
  async close(): Promise<void> {
    this.#settings = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#running?.stop.abort();
    await this.#running?.done;
  }

  #wait(ms: number): void {
    this.#timer?.[Symbol.dispose]();
    if (!this.#isStarted || this.#settings?.everyMs === undefined) return;
    this.#timer = this.#options.clock.after(Math.min(ms, maxWaitMs), () => this.#look());
  }

  async #look(): Promise<void> {
    const settings = this.#settings;
    if (settings?.everyMs === undefined || this.#running !== undefined) return;
    const stop = new AbortController();
    const done = this.#makeIfDue(settings, settings.everyMs, stop.signal);
    this.#running = { stop, done: done.then(() => {}) };
    const waitMs = await done;
    this.#running = undefined;
    // Settings that were applied meanwhile may make a backup due at once.
    this.#wait(settings === this.#settings ? waitMs : 0);
  }

  /** Makes a backup if it is time; resolves to the milliseconds until the next look. Never rejects. */
  async #makeIfDue(settings: BackupSettings, everyMs: number, signal: AbortSignal): Promise<number> {
    const source = this.#options.source();
    const folder = new BackupFolder(settings.folder, source);
    try {
      const waitMs = await this.#untilDue(folder, everyMs);
      if (waitMs > 0) return waitMs;
      await this.#make(folder, settings, signal);
      this.#failedAtMs = undefined;
      return everyMs;
    } catch (error) {
      if (signal.aborted) return everyMs;
      this.#failedAtMs = this.#options.clock.now();
      const pauseMs = Math.min(everyMs, retryMs);
      const reason = reasonOf(error);
      this.#options.log.event("backup.failed", "no backup could be made; it is tried again later", {
        folder: folder.path,
        reason,
        retry_ms: pauseMs,
      });
      return pauseMs;
    }
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
    const { log, source, clock } = this.#options;
    await folder.create();
    const begin = performance.now();
    const path = folder.newPath(new Date(clock.now()));
    const present = source();
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

function reasonOf(error: unknown): string {
  return error instanceof Fault ? error.detail : messageOf(error);
}
