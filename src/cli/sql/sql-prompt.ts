import { createInterface, type Interface } from "node:readline";
import { messageOf } from "../../base/fault.ts";
import { ClientError } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import { openHistory } from "./sql-history.ts";
import { isComplete } from "./sql-statement.ts";

const first = "sql> ";
const more = "...> ";
const help = `A statement may have several lines and ends with ;
Ctrl+C drops what is typed or breaks a running statement off, Ctrl+D or \\q leaves.
`;

/** Reads statements from a terminal and runs them one after the other. Everything but the rows goes to standard error. */
export async function promptForSql(
  url: string,
  run: (statement: string, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const history = await openHistory(process.env);
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: true,
    history: [...history.lines].reverse(),
    historySize: 1000,
    removeHistoryDuplicates: true,
    prompt: first,
  });
  process.stderr.write(`${url}: end a statement with ; and leave with Ctrl+D; \\? helps\n`);
  const session = new Session(lines, run);
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
  process.stderr.write("\n");
  return exitCodes.done;
}

class Session {
  left = false;
  #typed = "";
  #running: AbortController | undefined;

  readonly #lines: Interface;
  readonly #run: (statement: string, signal: AbortSignal) => Promise<void>;

  constructor(lines: Interface, run: (statement: string, signal: AbortSignal) => Promise<void>) {
    this.#lines = lines;
    this.#run = run;
  }

  async take(line: string): Promise<void> {
    const word = line.trim().toLowerCase().replace(/;$/, "");
    if (this.#typed === "" && ["\\q", ".quit", "exit", "quit"].includes(word)) {
      this.left = true;
      return;
    }
    if (this.#typed === "" && ["\\?", ".help", "help"].includes(word)) process.stderr.write(help);
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
    process.stderr.write(wasEmpty ? "\n(Ctrl+D leaves)\n" : "^C\n");
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
      const isExpected = running.signal.aborted || error instanceof ClientError;
      if (!isExpected) throw error;
      process.stderr.write(`${messageOf(running.signal.aborted ? running.signal.reason : error)}\n`);
    } finally {
      this.#running = undefined;
    }
  }

  #prompt(): void {
    this.#lines.setPrompt(this.#typed === "" ? first : more);
    this.#lines.prompt();
  }
}
