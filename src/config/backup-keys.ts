import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { key, readBy } from "./key.ts";

/** Milliseconds of the units in which an interval is written. */
const intervalUnits: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const interval = readBy((value) => {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const ms = Number(count ?? 0) * (intervalUnits[unit] ?? 0);
  if (ms > 0) return ms;
  if (count !== undefined)
    throw new Fault("InvalidInput", "must be longer than zero; remove the key to make no backups");
  throw new Fault(
    "InvalidInput",
    'must be a number and a unit (s, m, h or d) in quotes, such as "24h" or "7d"',
  );
});

/** `backupKeys` say when and where the server makes backups by itself. */
export const backupKeys = {
  backup_dir: key(
    "path",
    z.string().min(1).optional(),
    "The folder of the backups that the server makes by itself; default: `backup` beside the SQLite file, or beside this file for PostgreSQL.",
    { example: "backup", fileUse: "folder" },
  ),
  backup_every: key(
    "interval",
    interval.optional(),
    "Make a backup this often, such as `24h`, `12h` or `7d`; without it none is made, except before a migration.",
    { example: "24h" },
  ),
  backup_keep: key(
    "number",
    z.int().positive().default(7),
    "The number of these backups that are kept; older ones are removed after a new one is complete.",
  ),
  backup_files: key(
    "boolean",
    z.boolean().default(false),
    "Put the files of all buckets into these backups, too.",
  ),
  backup_before_migration: key(
    "boolean",
    z.boolean().default(true),
    "Make a backup of the database before an update changes its schema, and refuse to start if that fails.",
  ),
};
