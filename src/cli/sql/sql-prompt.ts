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

/** Statements from a terminal, one after the other. Everything but the rows goes to standard error. */
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
  // Lines that are pasted come faster than statements are run.
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

  constructor(
    private readonly lines: Interface,
    private readonly run: (statement: string, signal: AbortSignal) => Promise<void>,
  ) {}

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

  /** Ctrl+C. */
  interrupt(): void {
    if (this.#running !== undefined) {
      this.#running.abort(new Error("broken off; the server may go on with it"));
      return;
    }
    const wasEmpty = this.#typed === "" && this.lines.line === "";
    process.stderr.write(wasEmpty ? "\n(Ctrl+D leaves)\n" : "^C\n");
    this.#typed = "";
    // Also what stands on the line: a key that clears it, because readline has no call for that.
    this.lines.write(null, { ctrl: true, name: "e" });
    this.lines.write(null, { ctrl: true, name: "u" });
    this.#prompt();
  }

  async #runOne(statement: string): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    try {
      await this.run(statement, running.signal);
    } catch (error) {
      const isExpected = running.signal.aborted || error instanceof ClientError;
      if (!isExpected) throw error;
      process.stderr.write(`${messageOf(running.signal.aborted ? running.signal.reason : error)}\n`);
    } finally {
      this.#running = undefined;
    }
  }

  #prompt(): void {
    this.lines.setPrompt(this.#typed === "" ? first : more);
    this.lines.prompt();
  }
}
