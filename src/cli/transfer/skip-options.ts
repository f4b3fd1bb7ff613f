import type { OptionRow } from "../command-row.ts";
import { gather } from "../options.ts";

/** `skipOptions` are those of the commands that send a folder: which of its files are skipped. */
export const skipOptions: readonly OptionRow[] = [
  ["--include <pattern>", "send files that the rules skip, such as .htaccess; repeatable", { parse: gather }],
  ["--exclude <pattern>", "skip files, such as *.map or /drafts/; repeatable", { parse: gather }],
  ["-v, --verbose", "list every skipped file with its rule"],
];
