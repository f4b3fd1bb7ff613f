/** SiteFile is a file in the top folder of a bucket that says how the others are served. */
export type SiteFile = "_headers" | "_redirects";

/** SiteProblem is a line of such a file that does not do what its author wants. An error is not applied as it is written; a warning is. */
export interface SiteProblem {
  readonly file: SiteFile;
  /** From 1; 0 if the file as a whole is meant. */
  readonly line: number;
  readonly level: "error" | "warning";
  readonly why: string;
}

/** Problems of one file that are reported, at most. */
const maxProblems = 100;

/** ProblemList gathers the problems of one file. */
export class ProblemList {
  readonly found: SiteProblem[] = [];
  readonly #file: SiteFile;

  constructor(file: SiteFile) {
    this.#file = file;
  }

  add(line: number, why: string, level: SiteProblem["level"] = "error"): void {
    if (this.found.length < maxProblems) this.found.push({ file: this.#file, line, level, why });
    else if (this.found.length === maxProblems)
      this.found.push({ file: this.#file, line, level, why: "there are more problems after these" });
  }
}

/** quoted shows a part of a line in a problem, shortened. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}…` : text);
}

/** maxFileBytes is the size up to which a `_headers` or `_redirects` file is read. */
export const maxFileBytes = 512 * 1024;
const maxLineChars = 8 * 1024;
const maxLines = 10_000;

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without white space around it. */
  readonly text: string;
}

/**
 * linesOf decodes a file and returns its lines, without comments and empty ones. A file that is too long or not UTF-8 has none,
 * and lines that are too long or contain control characters are left out; each is a problem.
 */
export function linesOf(content: Uint8Array, problems: ProblemList): Line[] {
  const text = decode(content, problems);
  const lines: Line[] = [];
  for (const [at, raw] of text.split("\n", maxLines + 1).entries()) {
    const number = at + 1;
    if (number > maxLines) {
      problems.add(number, `the file has more than ${maxLines} lines; this one and all after it are ignored`);
      break;
    }
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    if (line.length > maxLineChars)
      problems.add(number, `the line is longer than ${maxLineChars} characters`);
    else if (/[\0-\x08\x0a-\x1f\x7f]/.test(line))
      problems.add(number, "the line contains a control character");
    else lines.push({ number, text: line });
  }
  return lines;
}

function decode(content: Uint8Array, problems: ProblemList): string {
  if (content.byteLength > maxFileBytes) {
    problems.add(0, `the file is larger than ${maxFileBytes / 1024} KiB and is not used`);
    return "";
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    problems.add(0, "the file is not UTF-8 text and is not used");
    return "";
  }
}
