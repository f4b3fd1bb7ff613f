import { type Clock, systemClock } from "../../src/base/clock.ts";
import { Context, type Output, type StopSignal } from "../../src/cli/context.ts";
import { run } from "../../src/cli/run.ts";
import type { Finished, RunOptions } from "./process.ts";
import { until, within } from "./until.ts";

/** The longest time that a command in process may take; it has a server on the same machine. */
export const maxCommandMs = 20_000;

export interface InvokeOptions extends Pick<RunOptions, "env" | "stdin" | "cwd"> {
  /** Whether both outputs are shown on a terminal. Standard input is not one: typing needs a real terminal. */
  readonly isTTY?: boolean;
  /** A clock that the story turns; default: the system's. */
  readonly clock?: Clock;
}

/** Invocation is a command that runs in the process of the test, with a context of its own: its streams are texts in memory. */
export class Invocation implements AsyncDisposable {
  readonly exited: Promise<Finished>;
  stdout = "";
  stderr = "";
  readonly #listeners = new Map<StopSignal, Set<() => void>>();
  readonly #name: string;
  #alive = true;

  /** Runs the command of `args` in the folder `home`. */
  constructor(
    home: string,
    args: readonly string[],
    { env, stdin = "", cwd, isTTY, clock = systemClock }: InvokeOptions = {},
  ) {
    this.#name = args.join(" ");
    const ctx = new Context({
      env: { PATH: process.env.PATH, HOME: home, ...env },
      cwd: cwd ?? home,
      home: env?.HOME ?? home,
      out: this.#output("stdout", isTTY),
      err: this.#output("stderr", isTTY),
      terminal: undefined,
      clock,
      input: () => new Blob([stdin]).stream(),
      onSignal: (name, listener) => {
        const listeners = this.#listeners.get(name) ?? new Set();
        this.#listeners.set(name, listeners.add(listener));
        return () => listeners.delete(listener);
      },
    });
    this.exited = run(args, ctx)
      .then((code) => ({ code, signal: null, stdout: this.stdout, stderr: this.stderr }))
      .finally(() => {
        this.#alive = false;
      });
    // Whoever waits for it gets the error; a test that has failed already does not.
    this.exited.catch(() => {});
  }

  #output(name: "stdout" | "stderr", isTTY = false): Output {
    const decoder = new TextDecoder();
    return {
      isTTY,
      ...(isTTY && { columns: 80 }),
      write: (data, done) => {
        this[name] += typeof data === "string" ? data : decoder.decode(data, { stream: true });
        if (done !== undefined) setImmediate(done);
      },
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Sends a signal to the command. One that it does not listen to would end a process, and is an error here. */
  signal(name: StopSignal): void {
    const listeners = [...(this.#listeners.get(name) ?? [])];
    if (listeners.length === 0)
      throw new Error(`\`${this.#name}\` does not listen to ${name}; start it as a process`);
    for (const listener of listeners) listener();
  }

  /** A polite stop, and how it ended. */
  stop(name: StopSignal = "SIGTERM"): Promise<Finished> {
    this.signal(name);
    return this.ends();
  }

  ends(ms = maxCommandMs): Promise<Finished> {
    return within(`\`${this.#name}\` ends`, this.exited, ms);
  }

  /** Waits until standard error, from `from` on, holds a match. */
  says(words: RegExp, from = 0): Promise<RegExpExecArray> {
    return until(
      `\`${this.#name}\` says ${words}`,
      () => {
        const found = words.exec(this.stderr.slice(from));
        if (found === null && !this.#alive) throw new Error(`it ended without ${words}:\n${this.stderr}`);
        return found ?? undefined;
      },
      maxCommandMs,
    );
  }

  /** Ends a command that still runs, as closing its terminal would. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#alive) return;
    for (const listener of this.#listeners.get("SIGTERM") ?? []) listener();
    await this.ends();
  }
}
