import { exactJson } from "../../base/raw-json.ts";
import { callExactly } from "../call/exact.ts";
import { readText } from "../call/params.ts";
import { exitCodes } from "../command.ts";
import { findServer, type RemoteOptions } from "../remote/remote.ts";
import { paintFor } from "../terminal/colour.ts";
import { print } from "../terminal/output.ts";
import { countText } from "../terminal/sizes.ts";
import { csvText, type Row, tableText } from "../terminal/table.ts";
import { WrongUsage } from "../terminal/wrong-usage.ts";
import { parseSqlParam } from "./sql-param.ts";
import { promptForSql } from "./sql-prompt.ts";

export interface SqlOptions extends RemoteOptions {
  readonly file?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
  readonly param?: readonly string[];
}

interface SqlResult {
  readonly data: readonly Row[];
  readonly row_count: number;
  readonly truncated: boolean;
}

/** A cell on a terminal is cut here; everything else is shown whole. */
const widestCell = 100;

/** One statement and its rows, or on a terminal one after the other. */
export async function sql(statement: string | undefined, options: SqlOptions): Promise<number> {
  if (statement !== undefined && options.file !== undefined)
    throw new WrongUsage("give a statement or a file, not both");
  if (options.csv && options.json) throw new WrongUsage("give --csv or --json, not both");
  const isPrompt = statement === undefined && options.file === undefined && process.stdin.isTTY;
  if (isPrompt && options.param !== undefined) throw new WrongUsage("--param needs a statement or a file");
  const server = await findServer(options);
  const run = (text: string, signal?: AbortSignal) => runOne(server, text, options, signal);
  if (isPrompt) return promptForSql(server.url, run);
  const text = statement ?? (await readText(options.file ?? "-"));
  if (text.trim() === "") throw new WrongUsage("there is no statement");
  await run(text);
  return exitCodes.done;
}

async function runOne(
  server: { readonly url: string; readonly token: string },
  statement: string,
  options: SqlOptions,
  signal?: AbortSignal,
): Promise<void> {
  const started = performance.now();
  const params = options.param?.map(parseSqlParam);
  const call = { sql: statement, ...(params === undefined ? {} : { params }) };
  const { result, text } = await callExactly(server, "node-server_exec_sql", call, signal);
  const ms = Math.round(performance.now() - started);
  const { data, row_count, truncated } = result as SqlResult;
  const cut = await show(columnsIn(text), data, options);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  say(`(${countText(row_count, "row")}, ${ms} ms)`);
  if (truncated)
    say(`truncated: the server sends the first ${countText(data.length, "row")} only; ask for less (LIMIT)`);
  if (cut > 0) say(`${countText(cut, "long cell")} cut; --json or --csv shows them whole`);
}

/** How many cells were cut. */
async function show(
  names: readonly string[],
  rows: readonly Row[],
  { csv, json }: SqlOptions,
): Promise<number> {
  if (json)
    await print(`[${rows.map((row) => `\n${exactJson(row)}`).join(",")}${rows.length > 0 ? "\n" : ""}]\n`);
  else if (csv) await print(csvText(names, rows));
  else if (names.length > 0) {
    const widest = process.stdout.isTTY ? { widest: widestCell } : {};
    const { text, cut } = tableText(names, rows, { paint: paintFor(process.stdout), ...widest });
    await print(text);
    return cut;
  }
  return 0;
}

/** The names of the columns in the statement's order, which an object loses when they look like numbers. */
function columnsIn(answer: string): string[] {
  const start = answer.indexOf('"data":[{') + '"data":['.length;
  if (start < '"data":['.length) return [];
  const names: string[] = [];
  let depth = 0;
  for (const [piece] of answer.slice(start).matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/g)) {
    if (piece === "{" || piece === "[") depth += 1;
    else if (piece === "}" || piece === "]") depth -= 1;
    else if (depth === 1 && piece.endsWith(":")) names.push(JSON.parse(piece.replace(/\s*:$/, "")) as string);
    if (depth === 0) break;
  }
  return names;
}
