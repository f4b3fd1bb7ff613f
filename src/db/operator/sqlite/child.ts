import { writeSync } from "node:fs";
import { codeOf, Fault, type FaultKind, messageOf } from "../../../base/fault.ts";
import { openLibc } from "../../../base/libc.ts";
import { executeSqlite, type SqliteRequest, sqliteTableSizes } from "./execute.ts";

/** Tells the child whose child it is. */
export const parentVariable = "NODE_SERVER_PARENT";

/** What the server asks its child for, one JSON line each. */
export type ChildRequest =
  | { readonly do: "ping" }
  | ({ readonly do: "execute" } & SqliteRequest)
  | { readonly do: "sizes"; readonly path: string };

/** A line while statements run: so many of them are committed. The child may be killed before it can answer. */
export interface ChildProgress {
  readonly kept: number;
}

/** The line before an answer: what the `bytes` that follow are. */
export type ChildHeader = { readonly bytes: number } & (
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: FaultKind }
);

/** The child: reads requests from standard input until it ends, answers each on standard output. */
export async function runSqliteChild(): Promise<void> {
  dieWithParent();
  // The server may have ended before the kernel was told; then this process has another parent by now.
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

/** Written at once: the next statement holds up everything else in this process. */
function tellKept(kept: number): void {
  const line = `${JSON.stringify({ kept } satisfies ChildProgress)}\n`;
  for (;;) {
    try {
      writeSync(process.stdout.fd, line);
      return;
    } catch (error) {
      // The pipe is full until the server reads; a line of a few bytes is written whole or not at all.
      if (codeOf(error) !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/** A statement that is stuck cannot notice that standard input ended, so on Linux the kernel ends the child with its server. */
function dieWithParent(): void {
  if (process.platform !== "linux") return;
  const setParentDeathSignal = 1;
  const sigkill = 9n;
  const libc = openLibc({ prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" } });
  // Without it the child still ends when its statement does.
  libc?.prctl(setParentDeathSignal, sigkill, 0n, 0n, 0n);
}
