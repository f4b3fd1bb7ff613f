import { visible } from "../../base/visible-text.ts";
import { say } from "../terminal/output.ts";

/** LeftOut is a file that was not transferred or not deleted, and why. */
export interface LeftOut {
  readonly path: string;
  readonly why: string;
}

/** Names files on standard error, one a line. */
export function sayLeftOut(what: string, files: readonly LeftOut[]): void {
  for (const { path, why } of files) say(`${what}: ${visible(path)}: ${visible(why)}`);
}
