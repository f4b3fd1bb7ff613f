import { Fault, messageOf } from "../base/fault.ts";
import type { Binary } from "./binary.ts";

/**
 * `execInto` replaces this process by the binary on the disk, with the same arguments and process id. It never returns: it throws
 * if that fails.
 */
export function execInto(binary: Binary): never {
  const { execve } = process;
  if (execve === undefined)
    throw new Fault("Other", "this system cannot replace a running process; restart the server yourself");
  // process.execve prints an ExperimentalWarning. All warnings are silenced: this process is about to be replaced.
  process.removeAllListeners("warning").on("warning", () => {});
  process.emitWarning = () => {};
  try {
    execve.call(
      process,
      binary.path,
      [binary.path, ...process.argv.slice(2)],
      process.env as NodeJS.ProcessEnv,
    );
  } catch (error) {
    throw new Fault("IoError", `the new binary cannot be run: ${messageOf(error)}`, {}, { cause: error });
  }
  throw new Fault("IoError", "the new binary was not run");
}
