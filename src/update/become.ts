import { Fault, messageOf } from "../base/fault.ts";
import type { Binary } from "./binary.ts";

/** This process becomes the binary on the disk, with the same arguments and the same id. Returns only by throwing. */
export function become(binary: Binary): never {
  const { execve } = process;
  if (execve === undefined)
    throw new Fault("Other", "this system cannot replace a running process; restart the server yourself");
  // It works and is here to stay, whatever the runtime says of it on standard error.
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
