import { readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, Fault } from "../../base/fault.ts";
import { WrongUsage } from "../errors.ts";
import { gather } from "../options.ts";
import { IgnorePattern, InvalidPattern } from "./ignore-pattern.ts";

/** `ignoreFile` is the name of the file in a folder that says which files of it are not sent. */
const ignoreFile = ".nodeserverignore";

/** What a site does not need and visitors must not see. The folder `.well-known` is part of sites (RFC 8615). */
const defaults = ["node_modules", ".*", "!.well-known", ".env*"];

/** Names in lower case that are never pushed or pulled: a repository is not a site, and a pulled one could bring hooks that run. */
const excluded: ReadonlySet<string> = new Set([".git", ".ds_store"]);
const partName = /^\.node-server-[A-Za-z0-9]+\.part$/;

/** The name of a file that a pull writes before it is complete. */
export const newPartName = (random: string) => `.node-server-${random}.part`;

/** `isExcluded` returns whether a path has a name that no rule can include. */
export function isExcluded(path: string): boolean {
  return path.split("/").some((name) => excluded.has(name.toLowerCase()) || partName.test(name));
}

/** SkipOptions are the patterns of the command line. */
export interface SkipOptions {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

interface Rule {
  readonly pattern: IgnorePattern;
  readonly skips: boolean;
  /** Where the rule comes from, for people. */
  readonly source: string;
}

/**
 * SkipRules decide which files of a folder are not sent: those of the defaults, then of `.nodeserverignore` in the folder, then
 * `--exclude`, then `--include`. The last pattern that matches a path decides. What is in a skipped folder is skipped with it, except
 * what an `--include` with a slash names.
 */
export class SkipRules {
  readonly #rules: readonly Rule[];
  readonly #includedPaths: readonly IgnorePattern[];

  private constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    this.#includedPaths = rules
      .filter(({ source, pattern }) => source === "--include" && pattern.isAnchored)
      .map(({ pattern }) => pattern);
  }

  /** Reads the rules for a folder. Throws for a pattern that cannot be read. */
  static read(dir: string, { include = [], exclude = [] }: SkipOptions = {}): SkipRules {
    return new SkipRules([
      ...defaults.map((line) => toRule(line, "a default")),
      ...readIgnoreFile(dir),
      ...exclude.map((pattern) => optionRule(pattern, { source: "--exclude", skips: true })),
      ...include.map((pattern) => optionRule(pattern, { source: "--include", skips: false })),
    ]);
  }

  /** Says why a path is not sent, the folders above it considered; undefined if it is sent. */
  whySkipped(path: string, kind: "file" | "folder" = "file"): string | undefined {
    if (isExcluded(path)) return "files and folders of this name are never sent";
    let why: string | undefined;
    for (let end = path.indexOf("/"); ; end = path.indexOf("/", end + 1)) {
      const [part, partKind] = end === -1 ? [path, kind] : [path.slice(0, end), "folder" as const];
      if (why === undefined) why = this.#whyAlone(part, partKind);
      else if (this.#includedPaths.some((pattern) => pattern.matches(part, partKind))) why = undefined;
      if (end === -1) return why;
    }
  }

  /** Tells whether something in a skipped folder may be sent, so that it has to be looked into. */
  mayIncludeBelow(folder: string): boolean {
    return !isExcluded(folder) && this.#includedPaths.some((pattern) => pattern.mayMatchBelow(folder));
  }

  #whyAlone(path: string, kind: "file" | "folder"): string | undefined {
    const rule = this.#rules.findLast(({ pattern }) => pattern.matches(path, kind));
    return rule?.skips ? `${rule.source}: ${rule.pattern.text}` : undefined;
  }
}

function readIgnoreFile(dir: string): Rule[] {
  const path = join(dir, ignoreFile);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    // Without its rules, what they keep back would be sent. Not every runtime's error names the path.
    throw Object.assign(error as Error, { path });
  }
  const rules: Rule[] = [];
  for (const [at, raw] of text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .entries()) {
    const line = withoutTrailingSpaces(raw);
    if (line === "" || line.startsWith("#")) continue;
    const source = `${ignoreFile}:${at + 1}`;
    try {
      rules.push(toRule(line, source));
    } catch (error) {
      if (!(error instanceof InvalidPattern)) throw error;
      throw new Fault("InvalidInput", `${path}:${at + 1}: ${line}: ${error.message}; nothing was done`);
    }
  }
  return rules;
}

/** Spaces at the end do not count, unless a backslash is before them. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end -= 1;
  return line.slice(0, end);
}

function toRule(line: string, source: string): Rule {
  const skips = !line.startsWith("!");
  return { pattern: new IgnorePattern(skips ? line : line.slice(1)), skips, source };
}

function optionRule(
  text: string,
  { source, skips }: { readonly source: "--include" | "--exclude"; readonly skips: boolean },
): Rule {
  try {
    // `./assets/` is how a shell completes it.
    return { pattern: new IgnorePattern(text.replace(/^\.\//, "/")), skips, source };
  } catch (error) {
    if (!(error instanceof InvalidPattern)) throw error;
    throw new WrongUsage(`${source} ${text}: ${error.message}`);
  }
}

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
