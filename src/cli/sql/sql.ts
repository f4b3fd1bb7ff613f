import { appendFile, chmod, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { codeOf, Fault, messageOf } from "../../base/fault.ts";
import { escapeControls, exactJson } from "../../base/json.ts";
import { replaceFile } from "../../base/local-fs/replace-file.ts";
import { ClientError, LimitReached, type ResultOf, type SqlRows } from "../../client/index.ts";
import { parseValue, readText } from "../call/declaration.ts";
import { exitCodes } from "../command.ts";
import { type Context, stateFolder, type Terminal } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { callExactly, clientFor, findServer, type RemoteOptions, type Target } from "../remote/remote.ts";
import { paintFor } from "../terminal/colour.ts";
import { countText } from "../terminal/quantities.ts";
import { csvText, type Row, tableText } from "../terminal/table.ts";
import { type DescribeResult, describe, readCommands, sqlHelp } from "./sql-commands.ts";
import { hasSeveral, isComplete } from "./sql-statement.ts";

interface SqlOptions extends RemoteOptions {
  readonly statement?: string;
  readonly file?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
  readonly param?: readonly string[];
}

/** Longer cells are cut on a terminal, and nowhere else. */
const maxCellWidth = 100;

/** Runs a statement and prints its rows; without one, asks for statements on the terminal. */
export async function sql(options: SqlOptions, ctx: Context): Promise<number> {
  const { statement } = options;
  if (statement !== undefined && options.file !== undefined)
    throw new WrongUsage("give a statement or a file, not both");
  if (options.csv && options.json) throw new WrongUsage("give --csv or --json, not both");
  const terminal = statement === undefined && options.file === undefined ? ctx.terminal : undefined;
  if (terminal !== undefined && options.param !== undefined)
    throw new WrongUsage("--param needs a statement or a file");
  if (terminal !== undefined) {
    const server = await findServer(ctx, options);
    return promptForSql(ctx, { terminal, url: server.url }, async (text, signal) => {
      const started = performance.now();
      const [command] = readCommands(text) ?? [];
      if (command !== undefined)
        return showDescribed(
          ctx,
          await describe((text) => askServer(server, text, {}, signal), command),
          options,
        );
      const answer = await askServer(server, text, options, signal);
      await show(ctx, [answer], options);
      reportCount(ctx, answer.row_count, started);
      if (answer.truncated)
        ctx.say(
          `only the first ${countText(answer.data.length, "row")} are shown; \`node-server sql --csv\` with the statement prints all`,
        );
    });
  }
  const text = statement ?? (await readText(ctx, options.file ?? "-"));
  if (text.trim() === "") throw new WrongUsage("there is no statement");
  const commands = readCommands(text);
  if (commands !== undefined) return runCommands(ctx, commands, options);
  const server = await findServer(ctx, options);
  if (hasSeveral(text))
    ctx.say("note: these are several statements; only the result of the last one is shown");
  return runWhole(ctx, server, text, options);
}

/** Runs backslash commands, which have no rows in common: as JSON or CSV there can be one. */
async function runCommands(ctx: Context, commands: readonly string[], options: SqlOptions): Promise<number> {
  if (options.param !== undefined) throw new WrongUsage("--param needs a statement");
  if ((options.csv || options.json) && commands.length > 1)
    throw new WrongUsage("give one backslash command with --csv or --json");
  for (const command of commands)
    if (command === "\\?") await ctx.print(sqlHelp);
    else {
      const server = await findServer(ctx, options);
      await showDescribed(ctx, await describe((text) => askServer(server, text, {}), command), options);
    }
  return exitCodes.done;
}

/** Prints what a backslash command found; as JSON or CSV without the indexes, which are other rows. */
async function showDescribed(
  ctx: Context,
  { rows, indexes }: DescribeResult,
  options: SqlOptions,
): Promise<void> {
  await show(ctx, [rows], options);
  if (indexes === undefined || indexes.data.length === 0 || options.csv || options.json) return;
  await ctx.print("\n");
  await show(ctx, [indexes], options);
}

/** Runs a statement and prints all of its rows. Fails when some are missing, so that no script mistakes a part for the whole. */
async function runWhole(ctx: Context, server: Target, text: string, options: SqlOptions): Promise<number> {
  const started = performance.now();
  const answer = await askServer(server, text, options).catch((error: unknown) => {
    if (error instanceof LimitReached) return error;
    throw error;
  });
  const isAll = !(answer instanceof LimitReached || answer.truncated);
  const pages = isAll ? [answer] : await pagesOf(server, text, options);
  if (!(pages instanceof ClientError)) {
    const shown = await show(ctx, pages, options);
    reportCount(ctx, isAll ? answer.row_count : shown, started);
    return exitCodes.done;
  }
  if (answer instanceof LimitReached) throw answer;
  await show(ctx, [answer], options);
  reportCount(ctx, answer.row_count, started);
  ctx.warn(
    `node-server: only the first ${countText(answer.data.length, "row")} were printed: ${pages.message}`,
  );
  return exitCodes.failed;
}

/** All rows of a statement, by a cursor; or why there can be none. */
async function pagesOf(
  server: Target,
  sql: string,
  options: SqlOptions,
): Promise<AsyncGenerator<SqlRows> | ClientError> {
  const rows = clientFor(server).readSql({ sql, ...paramsOf(options) });
  try {
    const { value: first } = await rows.next();
    return (async function* () {
      if (first) yield first;
      yield* rows;
    })();
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
}

async function askServer(
  server: Target,
  sql: string,
  options: SqlOptions,
  signal?: AbortSignal,
): Promise<ResultOf<"node-server_exec_sql">> {
  const call = { sql, ...paramsOf(options) };
  return (await callExactly(
    server,
    "node-server_exec_sql",
    call,
    signal,
  )) as ResultOf<"node-server_exec_sql">;
}

function paramsOf({ param }: SqlOptions): { readonly params?: readonly unknown[] } {
  return param === undefined ? {} : { params: param.map(parseValue) };
}

function reportCount(ctx: Context, rows: number, started: number): void {
  ctx.say(`(${countText(rows, "row")}, ${Math.round(performance.now() - started)} ms)`);
}

/** Prints the rows of all pages and returns their number. */
async function show(
  ctx: Context,
  pages: Iterable<SqlRows> | AsyncIterable<SqlRows>,
  { csv, json }: SqlOptions,
): Promise<number> {
  const whole: Row[] = [];
  let names: readonly string[] = [];
  let count = 0;
  if (json) await ctx.print("[");
  for await (const page of pages) {
    if (json)
      await ctx.print(
        page.data.map((row, at) => `${count + at > 0 ? "," : ""}${escapeControls(exactJson(row))}`).join(""),
      );
    else if (csv) await ctx.print(csvText(page.columns, page.data, { head: count === 0 }));
    // The widths of a table's columns depend on all of its rows.
    else for (const row of page.data) whole.push(row);
    names = page.columns;
    count += page.data.length;
  }
  if (json) await ctx.print("]\n");
  else if (!csv && names.length > 0) await showTable(ctx, names, whole);
  return count;
}

async function showTable(ctx: Context, names: readonly string[], rows: readonly Row[]): Promise<void> {
  const limit = ctx.out.isTTY ? { maxWidth: maxCellWidth } : {};
  const { text, cut } = tableText(names, rows, { paint: paintFor(ctx), ...limit });
  await ctx.print(text);
  if (cut > 0) ctx.say(`${countText(cut, "long cell")} cut; --json or --csv shows them whole`);
}

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
async function promptForSql(
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
