import { escapeControls, exactJson } from "../../base/json.ts";
import { ClientError, LimitReached, type ResultOf, type SqlRows } from "../../client/index.ts";
import { parseValue, readText } from "../call/declaration.ts";
import { exitCodes } from "../command.ts";
import type { Context } from "../context.ts";
import { WrongUsage } from "../errors.ts";
import { callExactly, clientFor, findServer, type RemoteOptions, type Target } from "../remote/remote.ts";
import { paintFor } from "../terminal/colour.ts";
import { countText } from "../terminal/quantities.ts";
import { csvText, type Row, tableText } from "../terminal/table.ts";
import { type DescribeResult, describe, readCommands, sqlHelp } from "./sql-commands.ts";
import { promptForSql } from "./sql-prompt.ts";
import { hasSeveral } from "./sql-statement.ts";

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
