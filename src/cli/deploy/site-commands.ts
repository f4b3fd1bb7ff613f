import type { CommandRow } from "../command-row.ts";
import { remoteJson, yes } from "../options.ts";
import { pushNotes } from "./push/notes.ts";
import { skipNotes } from "./skip/notes.ts";
import { skipOptions } from "./skip/skip-options.ts";

/** `siteCommands` transfer whole folders to buckets and back. */
export const siteCommands: readonly CommandRow[] = [
  {
    name: "deploy <dir> <bucket>",
    description: "publish a folder as the whole site of a bucket, at once: upload what changed, then switch",
    options: [
      ...remoteJson,
      ["--preview", "do not publish it, but print an address that shows it"],
      ["--note <text>", "a note for `deploys`, such as a commit"],
      ["--force", "begin also while somebody else fills another deploy of the bucket"],
      ...skipOptions,
    ],
    notes: `\n${skipNotes}\nThe site that was published before stays as a deploy: \`rollback\` goes back to it.`,
    load: async () => (await import("./publish/deploy.ts")).deploy,
  },
  {
    name: "rollback <bucket> [deploy]",
    description: "publish an earlier deploy again, at once (default: the one before the present one)",
    options: remoteJson,
    load: async () => (await import("./publish/deploys.ts")).rollback,
  },
  {
    name: "deploys <bucket>",
    description: "list the deploys of a bucket; publish, preview or delete one",
    options: [
      ...remoteJson,
      ["--publish <deploy>", "publish this one"],
      ["--preview <deploy>", "print an address that shows this one; it takes no more files from then on"],
      ["--delete <deploy>", "delete this one, after a question"],
      yes,
    ],
    load: async () => (await import("./publish/deploys.ts")).deploys,
  },
  {
    name: "push <dir> <bucket>",
    description: "copy a folder to a bucket: upload what changed, file by file",
    options: [
      ...remoteJson,
      ["--delete", "also delete files that are not in the folder"],
      ["--force", "upload all files, also those that seem equal"],
      ["--dry-run", "show what would happen and change nothing"],
      ["--watch", "push again whenever a file changes"],
      ...skipOptions,
    ],
    notes: pushNotes,
    load: async () => (await import("./push/push.ts")).push,
  },
  {
    name: "pull <bucket> <dir>",
    description: "download a bucket into a folder: only what changed",
    options: [
      ...remoteJson,
      ["--delete", "also delete files that are not in the bucket"],
      ["--dry-run", "show what would happen and change nothing"],
    ],
    notes:
      "\nFiles and folders named .git or .DS_Store are neither downloaded nor deleted.\n--delete leaves what a push of the folder would skip.",
    load: async () => (await import("./pull/pull.ts")).pull,
  },
  {
    name: "check-site <site>",
    description: "list what is wrong with _headers and _redirects of a folder or a bucket",
    options: remoteJson,
    notes:
      "\nSITE is a folder if there is one of this name, else a bucket. Lines that cannot be used make it fail; warnings do not.",
    load: async () => (await import("./check-site.ts")).checkSiteRules,
  },
];
