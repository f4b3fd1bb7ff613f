import { homedir } from "node:os";
import { systemClock } from "../base/clock.ts";
import { Context } from "./context.ts";

/**
 * Returns the context of this process. Only this file, and the few that `scripts/forbidden-uses.ts` names, use the process itself. Streams
 * are opened when they are used: opening standard input changes the mode of a terminal.
 */
export function processContext(): Context {
  let isWatched = false;
  return new Context({
    env: process.env,
    get cwd() {
      return process.cwd();
    },
    get home() {
      return process.env.HOME || homedir();
    },
    get out() {
      // The callback of a write gets the error too; without a listener it would end the process.
      if (!isWatched) process.stdout.on("error", () => {});
      isWatched = true;
      return process.stdout;
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
