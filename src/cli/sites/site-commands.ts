import type { CommandRow } from "../command-row.ts";
import { remoteJson, yes } from "../options.ts";
import { skipNotes, skipOptions } from "../transfer/skip-options.ts";

/** `siteCommands` transfer whole folders to buckets and back. */
export const siteCommands: readonly CommandRow[] = [
  {
    name: "deploy <dir> <bucket>",
    description: "deploy a folder to a bucket (atomic)",
    options: [
      ...remoteJson,
      ["--preview", "print a preview address instead of publishing"],
      ["--note <text>", "a note for `deploys`, such as a commit"],
      ["--force", "begin even if someone else is deploying to the bucket"],
      ...skipOptions,
    ],
    notes: `\n${skipNotes}\nThe previous site stays as a deploy; \`rollback\` publishes it again.`,
    load: async () => (await import("./deploy.ts")).deploy,
  },
  {
    name: "rollback <bucket> [deploy]",
    description: "publish an earlier deploy again (default: the previous one)",
    options: remoteJson,
    load: async () => (await import("./deploys.ts")).rollback,
  },
  {
    name: "deploys <bucket>",
    description: "list the deploys of a bucket; publish, preview or delete one",
    options: [
      ...remoteJson,
      ["--publish <deploy>", "publish this deploy"],
      ["--preview <deploy>", "print a preview address of this deploy, which then accepts no more files"],
      ["--delete <deploy>", "delete this deploy, after a question"],
      yes,
    ],
    load: async () => (await import("./deploys.ts")).deploys,
  },
  {
    name: "push <dir> <bucket>",
    description: "upload the changed files of a folder to a bucket, file by file",
    options: [
      ...remoteJson,
      ["--delete", "also delete files that are not in the folder"],
      ["--force", "upload all files, even unchanged ones"],
      ["--dry-run", "show what would happen and change nothing"],
      ["--watch", "push again whenever a file changes"],
      ...skipOptions,
    ],
    notes: `
Files are compared by size and hash; results of earlier pushes are stored in the user's state folder.
${skipNotes}
--delete keeps skipped files in the bucket, too.
--watch --json prints a line for each event: watching, pushed, folder_missing, retrying.
Pages are uploaded after the files they refer to, the front page last; --delete runs after all uploads.`,
    load: async () => (await import("./push.ts")).push,
  },
  {
    name: "pull <bucket> <dir>",
    description: "download the changed files of a bucket into a folder",
    options: [
      ...remoteJson,
      ["--delete", "also delete files that are not in the bucket"],
      ["--dry-run", "show what would happen and change nothing"],
    ],
    notes:
      "\nFiles and folders named .git or .DS_Store are not downloaded and not deleted.\n--delete keeps files that a push of the folder would skip.",
    load: async () => (await import("./pull.ts")).pull,
  },
  {
    name: "check-site <site>",
    description: "check _headers and _redirects of a folder or a bucket",
    options: remoteJson,
    notes:
      "\nSITE is a folder if one has this name, else a bucket. Invalid lines make the command fail; warnings do not.",
    load: async () => (await import("./check-site.ts")).checkSiteRules,
  },
];
