import { Fault, messageOf } from "../base/fault.ts";
import type { MigrationHook } from "../db/migrations/migrate.ts";
import type { Logger } from "../log/hub.ts";
import { backUpInChild, isBackupOfInChild } from "./backup-process.ts";
import { type BackedUpServer, BackupFolder } from "./schedule.ts";

export interface BeforeMigrationOptions {
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
