import { appendFile, chmod, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import { ClientError } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import { type Context, stateFolder, type Terminal } from "../context.ts";
import { sqlHelp } from "./sql-commands.ts";
import { isComplete } from "./sql-statement.ts";

const maxLines = 1000;

interface History {
  /** Oldest first. */
  readonly lines: readonly string[];
  /** Adds a line, unless it begins with a space. */
  add(line: string): Promise<void>;
}

/** Opens the history in the user's state folder. Only the user can read it: statements may hold secrets. */
async function openHistory(ctx: Context): Promise<History> {
  const path = join(stateFolder(ctx), "sql-history");
  try {
    const all = await read(path);
    const lines = all.slice(-maxLines);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (all.length > maxLines * 2) await replaceFile(path, `${lines.join("\n")}\n`, { mode: 0o600 });
    let last = lines.at(-1);
    return {
      lines,
      async add(line) {
        if (line.trim() === "" || line.startsWith(" ") || line === last) return;
        last = line;
        // Appended, so that two sessions at once keep the lines of both.
        await appendFile(path, `${line}\n`, { mode: 0o600 }).catch(() => {});
      },
    };
  } catch (error) {
    ctx.say(`note: the history cannot be saved: ${messageOf(error)}`);
    return { lines: [], async add() {} };
  }
}

async function read(path: string): Promise<string[]> {
  try {
    const text = await readFile(path, "utf8");
    await chmod(path, 0o600);
    return text.split("\n").filter((line) => line !== "");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

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
