import { writeSync } from "node:fs";
import { codeOf, Fault, type FaultKind, messageOf } from "../../../base/fault.ts";
import { openLibc } from "../../../base/libc.ts";
import { executeSqlite, type SqliteRequest, sqliteTableSizes } from "./execute.ts";

/** `parentVariable` is the environment variable with the process id of the child's server. */
export const parentVariable = "NODE_SERVER_PARENT";

/** ChildRequest is what the server sends to its child, one JSON line each. */
export type ChildRequest =
  | { readonly do: "ping" }
  | ({ readonly do: "execute" } & SqliteRequest)
  | { readonly do: "sizes"; readonly path: string };

/**
 * ChildProgress is a line sent while statements run: the number that are committed. The child may be killed before it can answer.
 */
export interface ChildProgress {
  readonly kept: number;
}

/** ChildHeader is the line before an answer: its length in bytes and its kind. */
export type ChildHeader = { readonly bytes: number } & (
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: FaultKind }
);

/**
 * `runSqliteChild` is the main program of the child: it reads requests from standard input until that ends, and answers each on
 * standard output.
 */
export async function runSqliteChild(): Promise<void> {
  dieWithParent();
  // The server may have ended before prctl was called; then this process has another parent by now.
  if (process.env[parentVariable] !== String(process.ppid)) return;
  for await (const line of console) {
    const { ok, kind, body } = answer(JSON.parse(line) as ChildRequest);
    const bytes = Buffer.from(body);
    const header: ChildHeader = ok ? { ok, bytes: bytes.length } : { ok, kind, bytes: bytes.length };
    await Bun.write(Bun.stdout, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), bytes]));
  }
}

function answer(
  request: ChildRequest,
): { ok: true; kind?: never; body: string } | { ok: false; kind: FaultKind; body: string } {
  try {
    return { ok: true, body: perform(request) };
  } catch (error) {
    const { kind, detail, data } =
      error instanceof Fault ? error : { kind: "DatabaseError" as const, detail: messageOf(error), data: {} };
    return { ok: false, kind, body: JSON.stringify({ detail, data }) };
  }
}

function perform(request: ChildRequest): string {
  switch (request.do) {
    case "ping":
      return "";
    case "execute":
      return executeSqlite(request, tellKept);
    case "sizes":
      return JSON.stringify(sqliteTableSizes(request.path));
  }
}

/** `tellKept` writes synchronously: the next statement blocks everything else in this process. */
function tellKept(kept: number): void {
  const line = `${JSON.stringify({ kept } satisfies ChildProgress)}\n`;
  for (;;) {
    try {
      writeSync(process.stdout.fd, line);
      return;
    } catch (error) {
      // The pipe is full until the server reads; a line of a few bytes is written as a whole or not at all.
      if (codeOf(error) !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/**
 * `dieWithParent` lets the Linux kernel kill the child together with its server: a statement that is stuck cannot notice that
 * standard input ended.
 */
function dieWithParent(): void {
  if (process.platform !== "linux") return;
  const setParentDeathSignal = 1;
  const sigkill = 9n;
  const libc = openLibc({ prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" } });
  // Without prctl the child still ends when its statement does.
  libc?.prctl(setParentDeathSignal, sigkill, 0n, 0n, 0n);
}
