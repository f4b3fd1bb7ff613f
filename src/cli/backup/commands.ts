import type { CommandRow } from "../command-row.ts";
import { yes } from "../options.ts";

/** Commands that copy, replace and move the data of a server, on its machine. */
export const backupCommands: readonly CommandRow[] = [
  {
    name: "backup <file>",
    description: "back up the database and the configuration; the server can be running",
    options: [["--files", "include the files of all buckets"]],
    notes: "\nFILE - is standard output.",
    load: async () => (await import("./backup.ts")).backup,
  },
  {
    name: "restore <file>",
    description: "replace the database of a stopped server with a backup",
    options: [
      yes,
      ["--files", "also restore the files of buckets (default: if the backup has them)"],
      ["--no-files", "do not restore files"],
      ["--replace-config", "also replace an existing configuration and UUID"],
    ],
    notes:
      "\nFILE - is standard input and needs --yes. The whole backup is checked first. If no configuration exists, the one in the backup is written.",
    load: async () => (await import("./restore.ts")).restore,
  },
  {
    name: "migrate",
    description:
      "copy the database of a stopped server to an empty one (SQLite or PostgreSQL), its files to another file store, or both",
    options: [
      [
        "--to <url>",
        "database_url of the new database: postgres://… or sqlite://…; - reads it from standard input",
      ],
      ["--write-config", "write the new database or file store into the configuration"],
      [
        "--files <store>",
        "the new file store: s3://bucket/prefix, file:///folder or disk; see [files] in the configuration",
      ],
      ["--delete", "with --files, also delete files in the new store that no bucket has"],
    ],
    load: async () => (await import("./migrate.ts")).migrate,
  },
];
