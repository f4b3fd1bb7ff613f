import { visible } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";

/** LeftOut is a file that was not transferred or not deleted, and why. */
export interface LeftOut {
  readonly path: string;
  readonly why: string;
}

/** Names files on standard error, one a line. */
export function sayLeftOut(ctx: Context, what: string, files: readonly LeftOut[]): void {
  for (const { path, why } of files) ctx.say(`${what}: ${visible(path)}: ${visible(why)}`);
}
