import { appendFileSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

// Is compiled into the program of `gate.ts`, and into no other: there, each call that changes the disk or commits a transaction passes
// through here first. A sync is not such a call: what a killed process has written is there, synced or not.

/** Closing is how a story has closed the gate: `round` tells one closing from the next. */
export interface Closing {
  readonly round: string;
  /** The number of the call before which the process is killed. */
  readonly killAt: number;
  /** Calls that do not count. */
  readonly except: readonly string[];
}

const folder = process.env.NODE_SERVER_TEST_GATE;
let round = "";
let count = 0;
let last = "";

/** pass writes the call down while the gate is closed, and kills this process if the call is the one that the story has named. */
export function pass(point: string): void {
  const closing = folder === undefined ? undefined : closingIn(folder);
  if (folder === undefined || closing === undefined) return;
  if (closing.round !== round) [round, count, last] = [closing.round, 0, ""];
  // Parts of a file that are written one after another are one call.
  if ((point === "writeFile" && last === "writeFile") || closing.except.includes(point)) return;
  last = point;
  count += 1;
  appendFileSync(join(folder, `passed-${round}`), `${point}\n`);
  if (count !== closing.killAt) return;
  process.kill(process.pid, "SIGKILL");
  // Nothing else happens before the signal has arrived.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function closingIn(path: string): Closing | undefined {
  try {
    return JSON.parse(readFileSync(join(path, "closed"), "utf8")) as Closing;
  } catch {
    // The gate is open.
    return undefined;
  }
}

/** gated returns a function that passes the gate before it does what `call` does. */
export function gated<Args extends unknown[], Result>(name: string, call: (...args: Args) => Result) {
  return (...args: Args): Result => {
    pass(name);
    return call(...args);
  };
}

/** FileHandle is not exported by Node. */
type FileHandle = Awaited<ReturnType<typeof open>>;

const seen = new WeakSet<object>();

/** openGated is `open` of `node:fs/promises`, with a gate before each call that changes the file. */
export async function openGated(...args: Parameters<typeof open>): Promise<FileHandle> {
  const file = await open(...args);
  const prototype = Object.getPrototypeOf(file) as FileHandle;
  if (!seen.has(prototype)) {
    seen.add(prototype);
    for (const name of ["truncate", "writeFile"] as const) {
      const call = prototype[name] as (...args: unknown[]) => Promise<void>;
      prototype[name] = function (this: FileHandle, ...args: unknown[]) {
        pass(name);
        return call.apply(this, args);
      } as never;
    }
  }
  return file;
}
