import { type Line, ms, type Pace, printTable, ratio } from "./figures.ts";
import { helloQuantile } from "./latency.ts";
import { type Bench, call, firstAnswer, launch, request, superToken } from "./servers.ts";

/** Counts for about as long as the statement's time limit lets it. */
const endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c";

/** What a caller feels while an operator's statement runs for ten seconds. */
export async function sql({ ours }: Bench, { quick }: Pace): Promise<Line[]> {
  const calls = quick ? 200 : 1000;
  await using server = launch(ours);
  await firstAnswer(server);
  await helloQuantile(server, calls, 0.99);
  const idle = await helloQuantile(server, calls, 0.99);
  const statement = call(server.url, request("node-server_exec_sql", [superToken, endless]));
  await Bun.sleep(500);
  const busy = await helloQuantile(server, calls, 0.99);
  const outcome = await statement;
  if (!outcome.includes("sql_timeout_ms"))
    throw new Error(`the statement was to be stopped, but: ${outcome}`);
  printTable(
    `hello, p99 of ${calls} calls in a row`,
    ["", "p99", "ratio"],
    [
      ["idle", ms(idle), ratio(1)],
      ["while a statement runs", ms(busy), ratio(busy / idle)],
    ],
  );
  return [];
}
