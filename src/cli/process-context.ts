import { fstatSync, readFileSync, statSync, write } from "node:fs";
import { homedir } from "node:os";
import { systemClock } from "../base/clock.ts";
import { codeOf, Fault } from "../base/fault.ts";
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

/**
 * openOutput returns standard output. `process.stdout` takes longer to load than most commands run, so only a terminal, whose width it
 * knows, gets it. Its callback gets the error of a write too; without a listener it would end the process.
 */
function openOutput(): Output {
  if (!isTerminalOrDevice()) return fileOutput();
  process.stdout.on("error", () => {});
  return process.stdout;
}

function isTerminalOrDevice(): boolean {
  try {
    const output = fstatSync(1);
    return output.isCharacterDevice() && output.rdev !== statSync("/dev/null").rdev;
  } catch {
    return true;
  }
}

/** fileOutput writes to a file, a pipe or a socket, in the order of the calls. */
function fileOutput(): Output {
  let last = Promise.resolve();
  return {
    write(data, done) {
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      last = last.then(() => writeWhole(bytes)).then(() => done?.(), done);
    },
  };
}

/** Pause before the next write to a pipe that is full and does not block. */
const fullMs = 5;

async function writeWhole(bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    write(1, bytes, at, (error, count) => (error === null ? resolve(count) : reject(error)));
    try {
      at += await promise;
    } catch (error) {
      if (codeOf(error) !== "EAGAIN") throw error;
      await Bun.sleep(fullMs);
    }
  }
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
