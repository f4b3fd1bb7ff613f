import { Fault, messageOf } from "../base/fault.ts";
import { lowerPriority } from "../base/process.ts";
import { selfCommand } from "../build.ts";
import { LogHub } from "../log/hub.ts";
import { type BackupResult, type BackupSource, isBackupOf, makeBackupFile } from "./make-backup.ts";

interface Order {
  readonly path: string;
  readonly source: BackupSource;
  /** A question: whether the backup at `path` is one of the present state. Nothing is written. */
  readonly compares?: true;
}

type Reply<T = unknown> = { readonly result: T } | { readonly error: string };

/**
 * `backUpInChild` makes a backup in a process of its own, so that neither reading nor compression takes time from the event loop.
 * If `signal` fires, the process is ended and nothing is left.
 */
export function backUpInChild(
  path: string,
  source: BackupSource,
  signal: AbortSignal,
): Promise<BackupResult> {
  return runChild<BackupResult>({ path, source }, signal);
}

/** `isBackupOfInChild` does in a process of its own what `isBackupOf` does. */
export function isBackupOfInChild(path: string, source: BackupSource, signal: AbortSignal): Promise<boolean> {
  return runChild<boolean>({ path, source, compares: true }, signal);
}

/** The order is sent through a pipe, because it may contain a database password. */
async function runChild<T>(order: Order, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
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
    const reply = parseReply<T>(output);
    if ("error" in reply) throw new Fault("Other", reply.error);
    return reply.result;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function parseReply<T>(output: string): Reply<T> {
  try {
    return JSON.parse(output) as Reply<T>;
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
  const { path, source, compares } = JSON.parse(await Bun.stdin.text()) as Order;
  const options = { hub: new LogHub(), signal };
  let reply: Reply;
  try {
    reply = { result: await (compares ? isBackupOf : makeBackupFile)(path, source, options) };
  } catch (error) {
    reply = { error: error instanceof Fault ? error.detail : (explain(error) ?? messageOf(error)) };
  }
  process.stdout.write(JSON.stringify(reply));
}
