import { readFile, writeFile } from "node:fs/promises";
import { call, type Site, start, superToken } from "../servers/node-server.ts";
import { dav, davRoot } from "./fill.ts";
import type { DatabaseName } from "./sites.ts";

/** Plan is how a database finds the rows of one statement of the server. */
export interface Plan {
  readonly database: DatabaseName;
  readonly statement: string;
  /** How it reads the table, each way once. */
  readonly reads: readonly string[];
  /** Whether it reads nothing but by an index. */
  readonly met: boolean;
}

interface Explained {
  readonly database: DatabaseName;
  readonly site: Site;
}

/**
 * explainRequests sends one request of each kind to a server that logs its statements, and has the database explain those that
 * read files' rows.
 */
export async function explainRequests({ site, database }: Explained): Promise<Plan[]> {
  const config = site.program.command.at(-1) ?? "";
  const traced = config.replace(/\.toml$/, "-traced.toml");
  const text = await readFile(config, "utf8");
  await writeFile(
    traced,
    text.replace("[logging]", '[logging]\nmemory_log_filter = "info,db=trace"\nmemory_log_capacity = 1000'),
  );
  const command = [...site.program.command.slice(0, -1), traced];
  await using server = await start({ ...site.program, command });
  const { port } = server;
  await sendAll(port);
  const log = await call<Array<{ message: string }>>(port, "node-server_log", [superToken, "db=trace"]);
  const statements = new Set(
    log
      .map(({ message }) => message)
      .filter((message) => /^(with|select|insert|update|delete)\b.*\bkv\b/is.test(message)),
  );
  const plans: Plan[] = [];
  for (const statement of statements) plans.push(await explain(port, statement, database));
  return plans;
}

async function sendAll(port: number): Promise<void> {
  const destination = `${davRoot}/0/0/explained.txt`;
  await dav(port, "GET", "/0/0/1.txt");
  await dav(port, "HEAD", "/0/0/1.txt");
  await dav(port, "PUT", "/explained.bin", { body: Buffer.from("content") });
  await dav(port, "MKCOL", "/explained");
  await dav(port, "DELETE", "/explained");
  await dav(port, "MOVE", "/0/0/1.txt", { headers: { destination } });
  await dav(port, "MOVE", "/0/0/explained.txt", { headers: { destination: `${davRoot}/0/0/1.txt` } });
  await dav(port, "COPY", "/0/0", { headers: { destination: `${davRoot}/explained` } });
  await dav(port, "DELETE", "/explained");
  await dav(port, "PROPFIND", "/0/0/", { headers: { depth: "1" } });
}

async function explain(port: number, statement: string, database: DatabaseName): Promise<Plan> {
  // A text that is valid as a name, as a number and as JSON.
  const filled = statement.replace(/\$\d+|\?/g, "'1'");
  const isSqlite = database === "SQLite";
  // PostgreSQL shows the subqueries of a recursive step only when it runs the statement; those that change rows are not run.
  const runs = /^(with|select)\b/i.test(statement) ? "ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF, " : "";
  const kind = isSqlite ? "QUERY PLAN" : `(${runs}COSTS OFF)`;
  const { data } = await call<{ data: Array<Record<string, unknown>> }>(port, "node-server_exec_sql", {
    token: superToken,
    sql: `EXPLAIN ${kind} ${filled}`,
  });
  const lines = data.map((row) => String(isSqlite ? row.detail : row["QUERY PLAN"]));
  const reads = lines.filter((line) =>
    isSqlite ? /^(SEARCH|SCAN) (kv|child)\b/.test(line) : /Scan .*\bon kv\b|Index Cond/.test(line),
  );
  const met = !reads.some((line) => (isSqlite ? /^SCAN/.test(line) : /Seq Scan/.test(line)));
  const plain = reads.map((line) => line.replace(/\((actual |never ).*$|^\s*->/g, "").trim());
  return { database, statement, reads: [...new Set(plain)], met };
}
