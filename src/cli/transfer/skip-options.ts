import { gather } from "../options.ts";

/** `skipOptions` are those of the commands that send a folder: which of its files are skipped. */
export const skipOptions = [
  ["--include <pattern>", "send files that the rules skip, such as .htaccess; repeatable", { parse: gather }],
  ["--exclude <pattern>", "skip files, such as *.map or /drafts/; repeatable", { parse: gather }],
  ["-v, --verbose", "list every skipped file with its rule"],
] as const;

/** skipNotes say in the help of `push` and `deploy` which files are not sent. */
export const skipNotes = `These rules skip files: node_modules, .env* and other names that begin with a dot, except .well-known;
then .nodeserverignore in DIR (the syntax of .gitignore); then --exclude. --include sends skipped files
all the same, except .git and .DS_Store; a pattern with a slash also reaches into a skipped folder.
Links are followed if they point to files inside DIR that are sent; other links are skipped and listed.`;
