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
        ["--no-cors", "do not allow pages of other origins to read it (CORS)"],
        ["--no-hosts", "remove its host names"],
        ["--no-clean-urls", "answer /about with a file of that name only"],
        ["--enable", "serve it"],
        ["--no-enable", "do not serve it over HTTP and WebDAV"],
      ],
      load: async () => (await import("./buckets.ts")).updateBucket,
    },
    {
      name: "delete <name>",
      description: "delete a bucket; its files stay, unless you add --files",
      options: [...remoteJson, ["--files", "also delete its files, deploys and history permanently"], yes],
      notes: "\n`node-server rm -r NAME/` deletes all files of a bucket that stays.",
      load: async () => (await import("./buckets.ts")).deleteBucket,
    },
    {
      name: "history <name> [path]",
      description: "list deleted and replaced files that can be restored, at a path and below",
      options: remoteJson,
      load: async () => (await import("./versions.ts")).listVersions,
    },
    {
      name: "restore <name> [path] [version]",
      description: "restore a version of `history`, or with --all every missing file",
      options: [
        ...remoteJson,
        ["--to <path>", "restore it to this path (default: its own path)"],
        ["--all", "restore the newest version of every missing file at or below PATH"],
        ["--dry-run", "with --all: list the files and change nothing"],
      ],
      load: async () => (await import("./versions.ts")).restoreVersion,
    },
    {
      name: "purge <name>",
      description: "purge everything that `history` lists; it can no longer be restored",
      options: [...remoteJson, yes],
      load: async () => (await import("./versions.ts")).purgeVersions,
    },
  ],
};
