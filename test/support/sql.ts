import { readdir, readFile } from "node:fs/promises";
import type { DatabaseKind, TestNode, WireReply } from "./node.ts";
import { cpuSeconds } from "./proc.ts";
import { until } from "./until.ts";

export interface SqlResult {
  readonly success: boolean;
  readonly columns: readonly string[];
  readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>;
  readonly row_count: number;
  readonly truncated: boolean;
}

const method = "node-server_exec_sql";

/** One `exec_sql` with the Super Token that must succeed. */
export async function exec(node: TestNode, sql: string, params?: unknown): Promise<SqlResult> {
  return (await node.call(method, { token: node.superToken, sql, params })) as SqlResult;
}

/** The rows of one that must succeed. */
export async function rows(node: TestNode, sql: string, params?: unknown): Promise<SqlResult["data"]> {
  return (await exec(node, sql, params)).data;
}

/** The error of one that must fail. */
export function refusedSql(
  node: TestNode,
  sql: string,
  params?: unknown,
): Promise<NonNullable<WireReply["error"]>> {
  return node.refused(method, { token: node.superToken, sql, params });
}

/** One with params written by hand; the text of the answer, in which integers keep all their digits. */
export async function execText(node: TestNode, sql: string, params = "null"): Promise<string> {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { token: node.superToken, sql } });
  const reply = await node.post(text.replace(/\}\}$/, `,"params":${params}}}`));
  return reply.text();
}

/** A statement that goes on until somebody stops it. */
export function endless(kind: DatabaseKind): string {
  return kind === "sqlite"
    ? "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c"
    : "SELECT pg_sleep(600)";
}

/** The numbers from 1 to `last` as the column `n` of a subquery named `series`. */
export function series(kind: DatabaseKind, last: number): string {
  return kind === "sqlite"
    ? `(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${last}) SELECT n FROM c) AS series`
    : `generate_series(1, ${last}) AS series(n)`;
}

/** The processes that `pid` started and that still run. */
export async function childrenOf(pid: number): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    // A process may be gone between the listing and the reading.
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (parent === String(pid) && state !== "Z") found.push(Number(name));
  }
  return found;
}

/** The children in which SQLite statements run. */
export async function sqlChildrenOf(pid: number): Promise<number[]> {
  const found: number[] = [];
  for (const child of await childrenOf(pid)) {
    const command = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
    if (command.includes("sql-child")) found.push(child);
  }
  return found;
}

/** Resident memory of a process and its children, in MiB. */
export async function residentMiB(pid: number): Promise<number> {
  let kib = 0;
  for (const one of [pid, ...(await childrenOf(pid))]) {
    const status = await readFile(`/proc/${one}/status`, "utf8").catch(() => "");
    kib += Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  }
  return kib / 1024;
}

/** The processor time after which a child that was started before is surely at work on its statement. */
const busySeconds = 0.15;
/** The processor time that a child may take to start: the server replaces one that a busy machine has kept from answering. */
const startSeconds = 0.5;

/** Waits, after `begin`, until a child of this process is at work on an endless statement of SQLite. */
export async function untilComputing<T>(begin: () => Promise<T>): Promise<{ readonly result: Promise<T> }> {
  const before = new Map<number, number>();
  for (const pid of await sqlChildrenOf(process.pid)) before.set(pid, await cpuSeconds({ pid }));
  const result = begin();
  await until("a statement is at work", async () => {
    for (const pid of await sqlChildrenOf(process.pid)) {
      const seconds = before.get(pid) ?? startSeconds;
      if ((await cpuSeconds({ pid }).catch(() => 0)) > seconds + busySeconds) return true;
    }
    return false;
  });
  return { result };
}
