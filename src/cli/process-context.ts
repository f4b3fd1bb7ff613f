import { fstatSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { systemClock } from "../base/clock.ts";
import { Fault } from "../base/fault.ts";
import { Context, type Output } from "./context.ts";

/**
 * Returns the context of this process. Only this file, and the few that `scripts/forbidden-uses.ts` names, use the process itself. Streams
 * are opened when they are used: opening standard input changes the mode of a terminal.
 */
export function processContext(): Context {
  let out: Output | undefined;
  return new Context({
    env: process.env,
    get cwd() {
      return process.cwd();
    },
    get home() {
      return process.env.HOME || homedir();
    },
    get out() {
      out ??= isOutputClosed() ? closedOutput : openOutput();
      return out;
    },
    get err() {
      return process.stderr;
    },
    get terminal() {
      return process.stdin.isTTY ? { keys: process.stdin, screen: process.stderr } : undefined;
    },
    clock: systemClock,
    input: () => Bun.stdin.stream(),
    onSignal(name, listener) {
      process.on(name, listener);
      return () => process.off(name, listener);
    },
  });
}

/** `openOutput` returns standard output. The callback of a write gets its error too; without a listener it would end the process. */
function openOutput(): Output {
  process.stdout.on("error", () => {});
  return process.stdout;
}

/** `closedOutput` refuses what is written to it. */
const closedOutput: Output = {
  write: (_, done) =>
    done?.(new Fault("IoError", "standard output is closed; redirect it to a file or a pipe")),
};

/** The flag of a descriptor that a program opened itself (`O_CLOEXEC`, Linux): one that it inherited cannot have it. */
const closeOnExec = 0o2000000;

/**
 * isOutputClosed returns whether the program was started without standard output, as by `>&-`. The runtime then opens `/dev/null` in its
 * place, so that all writes would seem to succeed. Only Linux shows the difference to an output that was redirected to `/dev/null`.
 */
function isOutputClosed(): boolean {
  if (process.platform !== "linux") return false;
  try {
    if (fstatSync(1).rdev !== statSync("/dev/null").rdev) return false;
    const [, flags = "0"] = /^flags:\s*([0-7]+)$/m.exec(readFileSync("/proc/self/fdinfo/1", "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // Without /proc it cannot be found out.
    return false;
  }
}
