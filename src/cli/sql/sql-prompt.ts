import { createInterface, type Interface } from "node:readline";
import { Fault, messageOf } from "../../base/fault.ts";
import { ClientError } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import type { Context, Terminal } from "../context.ts";
import { sqlHelp } from "./sql-commands.ts";
import { openHistory } from "./sql-history.ts";
import { isComplete } from "./sql-statement.ts";

const first = "sql> ";
const more = "...> ";

/** Run runs one statement and prints its rows. */
type Run = (statement: string, signal: AbortSignal) => Promise<void>;

/** Reads statements from a terminal and runs them one after the other. Everything but the rows goes to standard error. */
export async function promptForSql(
  ctx: Context,
  { terminal: { keys, screen }, url }: { readonly terminal: Terminal; readonly url: string },
  run: Run,
): Promise<number> {
  const history = await openHistory(ctx);
  const lines = createInterface({
    input: keys,
    output: screen,
    terminal: true,
    history: [...history.lines].reverse(),
    historySize: 1000,
    removeHistoryDuplicates: true,
    prompt: first,
  });
  ctx.say(`${url}: end a statement with ; and leave with Ctrl+D; \\? helps`);
  const session = new Session(ctx, { lines, run });
  lines.on("SIGINT", () => session.interrupt());
  const queue: string[] = [];
  let wake = () => {};
  let ended = false;
  // Pasted lines arrive faster than statements run.
  lines.on("line", (line) => {
    queue.push(line);
    wake();
  });
  lines.on("close", () => {
    ended = true;
    wake();
  });
  lines.prompt();
  while (!session.left) {
    const line = queue.shift();
    if (line !== undefined) {
      await history.add(line);
      await session.take(line);
    } else if (ended) break;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  lines.close();
  ctx.say("");
  return exitCodes.done;
}

class Session {
  left = false;
  #typed = "";
  #running: AbortController | undefined;

  readonly #ctx: Context;
  readonly #lines: Interface;
  readonly #run: Run;

  constructor(ctx: Context, { lines, run }: { readonly lines: Interface; readonly run: Run }) {
    this.#ctx = ctx;
    this.#lines = lines;
    this.#run = run;
  }

  async take(line: string): Promise<void> {
    const word = line.trim().toLowerCase().replace(/;$/, "");
    if (this.#typed === "" && ["\\q", ".quit", "exit", "quit"].includes(word)) {
      this.left = true;
      return;
    }
    if (this.#typed === "" && ["\\?", ".help", "help"].includes(word)) this.#ctx.err.write(sqlHelp);
    else if (this.#typed === "" && /^[\\.]/.test(word)) await this.#runOne(line);
    else if (this.#typed !== "" || word !== "") this.#typed += `${line}\n`;
    if (isComplete(this.#typed)) {
      const statement = this.#typed;
      this.#typed = "";
      await this.#runOne(statement);
    }
    this.#prompt();
  }

  /** Handles Ctrl+C: ends a running statement, or drops what was typed. */
  interrupt(): void {
    if (this.#running !== undefined) {
      this.#running.abort(new Error("interrupted; the server may continue to run it"));
      return;
    }
    const wasEmpty = this.#typed === "" && this.#lines.line === "";
    this.#ctx.err.write(wasEmpty ? "\n(Ctrl+D leaves)\n" : "^C\n");
    this.#typed = "";
    // Clears the line by its keys, because readline has no method for that.
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#prompt();
  }

  async #runOne(statement: string): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    try {
      await this.#run(statement, running.signal);
    } catch (error) {
      if (running.signal.aborted) this.#ctx.say(messageOf(running.signal.reason));
      else if (error instanceof Fault) this.#ctx.say(error.detail);
      else if (error instanceof ClientError) this.#ctx.say(error.message);
      else throw error;
    } finally {
      this.#running = undefined;
    }
  }

  #prompt(): void {
    this.#lines.setPrompt(this.#typed === "" ? first : more);
    this.#lines.prompt();
  }
}
