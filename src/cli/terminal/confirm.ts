import { Fault } from "../../base/fault.ts";
import { visibleLines } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";

/** Asks before something that cannot be undone, unless `yes` (the option `--yes`) is set. Throws when the answer is not yes. */
export async function confirm(ctx: Context, what: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  ctx.err.write(`${visibleLines(what)} Type yes to continue: `);
  if (!/^y(es)?$/i.test(await ctx.readLine()))
    throw new Fault("Other", "not confirmed, nothing changed (--yes skips the question)");
}
