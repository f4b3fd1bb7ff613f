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
      this.found.push({ file: this.#file, line, level, why: "there are more problems from here on" });
  }
}

/** quoted shows a part of a line in a problem, shortened. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}…` : text);
}
