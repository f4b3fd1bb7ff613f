import type { CommandRow } from "../command-row.ts";
import { yes } from "../options.ts";

/** Commands that copy, replace and move the data of a server, on its machine. */
export const backupCommands: readonly CommandRow[] = [
  {
    name: "backup <file>",
    description: "write a backup of the database and the configuration, beside a running server",
    options: [["--files", "also the files of all buckets"]],
    notes: "\nA FILE of - is standard output.",
    load: async () => (await import("./backup.ts")).backup,
  },
  {
    name: "restore <file>",
    description: "replace the database of a stopped server by that of a backup",
    options: [
      yes,
      ["--files", "also the files of its buckets (default: if the backup has them)"],
      ["--no-files", "leave the files as they are"],
      ["--replace-config", "also the configuration and the UUID, if there are any already"],
    ],
    notes:
      "\nA FILE of - is standard input, which needs --yes. The whole backup is checked first. Without a configuration, that of the backup is written.",
    load: async () => (await import("./restore.ts")).restore,
  },
  {
    name: "migrate",
    description:
      "copy the database of a stopped server into an empty one, SQLite or PostgreSQL; its files into another store; or both",
    options: [
      [
        "--to <url>",
        "database_url of the new one: postgres://… or sqlite://…; - reads it from standard input",
      ],
      ["--write-config", "name the new database or store in the configuration"],
      [
        "--files <store>",
        "where the files of all buckets are to be: s3://bucket/prefix, file:///folder or disk; see [files] in the configuration",
      ],
      ["--delete", "with --files, also delete files there that no bucket has"],
    ],
    load: async () => (await import("./migrate.ts")).migrate,
  },
];
