import { existsSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../base/fault.ts";
import { makeFolder } from "../base/local-fs/access.ts";
import { databaseFile } from "../db/database.ts";
import type { BackupSource } from "./make-backup.ts";

const ending = ".tar.zst";

/** FoundBackup is a backup that the server has made by itself. */
export interface FoundBackup {
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
    const reason = migration === undefined ? "" : `-before-${migration.replace(/[^\w.-]/g, "_")}`;
    for (let number = 1; ; number += 1) {
      const count = number === 1 ? "" : `-${number}`;
      const path = join(this.path, `${this.#prefix}${time}${reason}${count}${ending}`);
      if (!existsSync(path)) return path;
    }
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
