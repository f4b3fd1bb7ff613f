import { Fault, messageOf } from "../base/fault.ts";
import { lowerPriority } from "../base/process.ts";
import { selfCommand } from "../build.ts";
import { LogHub } from "../log/hub.ts";
import { type BackupResult, type BackupSource, makeBackupFile } from "./make-backup.ts";

interface Order {
  readonly path: string;
  readonly source: BackupSource;
}

type Reply = { readonly result: BackupResult } | { readonly error: string };

/**
 * `backUpInChild` makes a backup in a process of its own, so that neither reading nor compression takes time from the event loop.
 * The order is sent through a pipe, because it may contain a database password. If `signal` fires, the process is ended and
 * nothing is left.
 */
export async function backUpInChild(
  path: string,
  source: BackupSource,
  signal: AbortSignal,
): Promise<BackupResult> {
  signal.throwIfAborted();
  const order: Order = { path, source };
  const child = Bun.spawn(selfCommand("backup-child"), {
    stdin: new Blob([JSON.stringify(order)]),
    stdout: "pipe",
    stderr: "ignore",
  });
  const stop = () => child.kill("SIGTERM");
  signal.addEventListener("abort", stop);
  try {
    const [output] = await Promise.all([child.stdout.text(), child.exited]);
    signal.throwIfAborted();
    const reply = parseReply(output);
    if ("error" in reply) throw new Fault("Other", reply.error);
    return reply.result;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function parseReply(output: string): Reply {
  try {
    return JSON.parse(output) as Reply;
  } catch {
    return { error: "the process that makes the backup was ended" };
  }
}

export interface ChildOptions {
  readonly signal: AbortSignal;
  /** Turns an error into a message for people. */
  explain(error: unknown): string | undefined;
}

/** `runBackupChild` runs the child's side: it reads the order from standard input and prints the reply. */
export async function runBackupChild({ signal, explain }: ChildOptions): Promise<void> {
  lowerPriority(10);
  const { path, source } = JSON.parse(await Bun.stdin.text()) as Order;
  let reply: Reply;
  try {
    reply = { result: await makeBackupFile(path, source, { hub: new LogHub(), signal }) };
  } catch (error) {
    reply = { error: error instanceof Fault ? error.detail : (explain(error) ?? messageOf(error)) };
  }
  process.stdout.write(JSON.stringify(reply));
}
