import { Fault } from "../../base/fault.ts";
import { visibleLines } from "../../base/visible-text.ts";
import type { Context } from "../context.ts";

/** Interrupted says that somebody typed Ctrl+C at a question. */
export class Interrupted extends Fault {
  constructor() {
    super("Other", "interrupted; nothing was changed");
  }
}

/** Asks on the terminal without echoing the answer. */
export async function askSecret({ terminal }: Context, question: string): Promise<string> {
  if (terminal === undefined)
    throw new Fault(
      "Other",
      "a token is needed: set NODE_SERVER_TOKEN, or run this on a terminal to be asked",
    );
  const { keys, screen } = terminal;
  // The echo is off before the question is shown: an answer pasted at once would be visible otherwise.
  keys.setRawMode(true);
  try {
    screen.write(question);
    let typed = "";
    for await (const chunk of keys) {
      for (const key of String(chunk)) {
        if (key === "\r" || key === "\n") return typed;
        if (key === "\u0003") throw new Interrupted();
        typed = key === "\u007f" || key === "\b" ? typed.slice(0, -1) : typed + key;
      }
    }
    return typed;
  } finally {
    keys.setRawMode(false);
    keys.pause();
    screen.write("\n");
  }
}

/** Asks on the terminal, or reads standard input if that is a file or a pipe. Never an option: other users can read the arguments of a program. */
export async function askOrReadSecret(
  ctx: Context,
  { what, question }: { readonly what: string; readonly question: string },
): Promise<string> {
  const given = ctx.terminal === undefined ? await ctx.readInput() : await askSecret(ctx, question);
  if (given.trim() === "")
    throw new Fault("Other", `no ${what} was given; type it on a terminal, or pipe it to standard input`);
  return given.replace(/\r?\n$/, "");
}

/** Asks before something that cannot be undone, unless `yes` (the option `--yes`) is set. Throws when the answer is not yes. */
export async function confirm(ctx: Context, what: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  ctx.err.write(`${visibleLines(what)} Type yes to continue: `);
  if (!/^y(es)?$/i.test(await ctx.readLine()))
    throw new Fault("Other", "not confirmed, nothing changed (--yes skips the question)");
}
