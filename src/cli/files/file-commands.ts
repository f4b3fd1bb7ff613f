import type { CommandRow } from "../command-row.ts";
import { remote, remoteJson, yes } from "../options.ts";
import { skipOptions } from "../transfer/skip-options.ts";

const where = `
Write a file of a bucket as BUCKET/PATH, such as site/index.html. A local path begins with /, ./ or ../`;

/** `fileCommands` are about single files and folders of buckets. */
export const fileCommands: readonly CommandRow[] = [
  {
    name: "ls [place]",
    description: "list a folder of a bucket (BUCKET/PATH); without an argument, the buckets",
    options: [...remoteJson, ["-r, --recursive", "list every file below it"]],
    load: async () => (await import("./ls.ts")).ls,
  },
  {
    name: "cat <files...>",
    description: "print files of buckets (BUCKET/PATH), as they are",
    options: remote,
    load: async () => (await import("./cat.ts")).cat,
  },
  {
    name: "cp <from> <to>",
    description: "copy a file or a folder: to a bucket, from one, or between buckets",
    options: [...remoteJson, ["-r, --recursive", "copy a folder and its content"], ...skipOptions],
    notes: `${where}; - is standard input.
If TO is an existing folder or ends with a slash, the copy goes into it under its own name.
Missing folders are created. Existing files are replaced. In a local folder, the skip rules of push apply.`,
    load: async () => (await import("./cp.ts")).cp,
  },
  {
    name: "mv <from> <to>",
    description: "move or rename a file or a folder of a bucket",
    options: remoteJson,
    notes:
      "\nIf TO is an existing folder or ends with a slash, it goes there under its own name.\nMissing folders are created. An existing file is replaced, a folder never.",
    load: async () => (await import("./cp.ts")).mv,
  },
  {
    name: "rm <places...>",
    description: "delete files of buckets (BUCKET/PATH)",
    options: [...remote, ["-r, --recursive", "delete a folder and its content, after a question"], yes],
    notes:
      "\n`rm -r BUCKET/` deletes everything in a bucket. `node-server buckets history BUCKET` lists what can be\nrestored, `node-server buckets purge BUCKET` frees its space.",
    load: async () => (await import("./rm.ts")).rm,
  },
];
