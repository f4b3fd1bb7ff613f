import { resolve } from "node:path";

const binary = process.env.NODE_SERVER_BINARY;

/** program is the command of the server as a shell starts it: the compiled one that the runner names, or the source. */
export const program: readonly string[] = binary
  ? [resolve(binary)]
  : [process.execPath, resolve(import.meta.dir, "../../src/main.ts")];
