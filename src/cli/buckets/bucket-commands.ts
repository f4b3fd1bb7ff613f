import type { CommandRow } from "../command-row.ts";
import { bucketShape, remoteJson, yes } from "../options.ts";
import { publicNote } from "./buckets.ts";

/** `buckets` is the group of commands about buckets. */
export const buckets: CommandRow = {
  name: "buckets",
  description: "list, create, change and delete buckets; restore their files",
  commands: [
    {
      name: "list",
      description: "list all buckets",
      isDefault: true,
      options: remoteJson,
      load: async () => (await import("./buckets.ts")).listBuckets,
    },
    {
      name: "create <name>",
      description: "create a bucket",
      options: bucketShape("default: its name"),
      notes: `\nNote: without --private, ${publicNote("SERVER/node/static/NAME/…")}.`,
      load: async () => (await import("./buckets.ts")).createBucket,
    },
    {
      name: "show <name>",
      description: "show one bucket",
      options: remoteJson,
      load: async () => (await import("./buckets.ts")).showBucket,
    },
    {
      name: "update <name>",
      description: "change a bucket; omitted settings stay",
      options: [
        ...bucketShape("default: unchanged"),
        ["--no-root", "do not serve it at /"],
        ["--no-cors", "do not allow pages of other origins to read it"],
        ["--no-hosts", "take its host names away"],
        ["--no-clean-urls", "answer /about with a file of that name only"],
        ["--enable", "serve it"],
        ["--no-enable", "do not serve it over HTTP and WebDAV"],
      ],
      load: async () => (await import("./buckets.ts")).updateBucket,
    },
    {
      name: "delete <name>",
      description: "delete a bucket; without --files its files stay where they are",
      options: [
        ...remoteJson,
        ["--files", "also delete its files, its deploys and what `history` lists, for good"],
        yes,
      ],
      notes: "\n`node-server rm -r NAME/` deletes all files of a bucket that stays.",
      load: async () => (await import("./buckets.ts")).deleteBucket,
    },
    {
      name: "history <name> [path]",
      description: "list what was deleted or replaced at a path and below it, and is kept",
      options: remoteJson,
      load: async () => (await import("./versions.ts")).listVersions,
    },
    {
      name: "restore <name> [path] [version]",
      description: "put a version of `history` back, or with --all every file that is missing",
      options: [
        ...remoteJson,
        ["--to <path>", "where to put it (default: its own path)"],
        ["--all", "restore the newest version of every file at or below PATH that does not exist now"],
        ["--dry-run", "with --all: list the files and change nothing"],
      ],
      load: async () => (await import("./versions.ts")).restoreVersion,
    },
    {
      name: "purge <name>",
      description: "purge everything that `history` lists; it cannot be restored any more",
      options: [...remoteJson, yes],
      load: async () => (await import("./versions.ts")).purgeVersions,
    },
  ],
};
