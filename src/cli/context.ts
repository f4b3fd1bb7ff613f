import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Clock } from "../base/clock.ts";
import { codeOf } from "../base/fault.ts";
import { jsonLine } from "../base/json.ts";
import { visible, visibleLines } from "../base/visible-text.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Output is standard output or standard error; `process.stdout` is one. */
export interface Output {
  /** True on a terminal. */
  readonly isTTY?: boolean;
  /** The width of the terminal. */
  readonly columns?: number;
  /** Writes data. `done` is called when it is written, or with the error if it cannot be. */
  write(data: string | Uint8Array, done?: (error?: Error | null) => void): unknown;
}

/** Terminal is where questions are asked that only a person can answer. */
export interface Terminal {
  readonly keys: NodeJS.ReadStream;
  readonly screen: NodeJS.WriteStream;
}

/** The signals by which a person or a service manager ends a command. */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Surroundings are what a command can see of the process that runs it. A test runs many commands in one process, each in its own. */
interface Surroundings {
  readonly env: Environment;
  readonly cwd: string;
  /** The user's home folder. */
  readonly home: string;
  readonly out: Output;
  readonly err: Output;
  /** The terminal at standard input; undefined if standard input is a file or a pipe. */
  readonly terminal: Terminal | undefined;
  /** The time that pauses between attempts take. */
  readonly clock: Clock;
  /** Opens standard input. */
  input(): ReadableStream<Uint8Array>;
  /** Calls `listener` at each signal of this name, instead of the default action, until the function that it returns is called. */
  onSignal(name: StopSignal, listener: () => void): () => void;
}

/** PipeClosed says that the reader of standard output is gone, as after `| head`. The program ends, but has not failed. */
export class PipeClosed extends Error {
  override readonly name = "PipeClosed";
}

/**
 * Context is handed to every command: its streams, environment, working directory, terminal and signals. A command uses these and
 * never those of the process, so that it also runs beside others in the process of a test.
 */
export class Context {
  /** Whether notes and progress are left out (`--quiet`). */
  isQuiet = false;
  readonly #surroundings: Surroundings;
  #lines: AsyncGenerator<string> | undefined;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get env(): Environment {
    return this.#surroundings.env;
  }

  get home(): string {
    return this.#surroundings.home;
  }

  get out(): Output {
    return this.#surroundings.out;
  }

  get err(): Output {
    return this.#surroundings.err;
  }

  get terminal(): Terminal | undefined {
    return this.#surroundings.terminal;
  }

  get clock(): Clock {
    return this.#surroundings.clock;
  }

  /** Returns the absolute path of one that the user gave. */
  path(given: string): string {
    // An absolute path can be used even where the working directory was removed.
    return given.startsWith("/") ? resolve(given) : resolve(this.#surroundings.cwd, given);
  }

  /** Writes data to standard output and waits until it is written. */
  readonly print = async (data: string | Uint8Array): Promise<void> => {
    if (data.length === 0) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.out.write(data, (error) => {
      if (error == null) resolve();
      else reject(codeOf(error) === "EPIPE" ? new PipeClosed("the pipe was closed") : error);
    });
    await promise;
  };

  /** Writes a value as JSON to standard output, on one line. */
  readonly printJson = (value: unknown): Promise<void> => this.print(jsonLine(value));

  /** Writes a line, or several, for people to standard error, unless `--quiet` was given. */
  readonly say = (line: string): void => {
    if (!this.isQuiet) this.warn(line);
  };

  /** Does the same about a failure, with `--quiet` too. A server may have chosen some of the text, so it cannot control the terminal. */
  readonly warn = (line: string): void => {
    this.err.write(`${visibleLines(line)}\n`);
  };

  /** Writes a line for people about one of several servers. Both texts may come from that server. */
  reportAbout(name: string, line: string): void {
    this.say(`node-server: ${visible(name)}: ${visible(line)}`);
  }

  /** Opens standard input as bytes. */
  input(): ReadableStream<Uint8Array> {
    return this.#surroundings.input();
  }

  /** Reads standard input to its end, as UTF-8. */
  readInput(): Promise<string> {
    return new Response(this.input()).text();
  }

  /** Reads the next line of standard input, without spaces around it; empty at its end. */
  async readLine(): Promise<string> {
    this.#lines ??= linesOf(this.input());
    return (await this.#lines.next()).value?.trim() ?? "";
  }

  /** Calls `listener` at each of these signals until the function that it returns is called. */
  onSignals(names: readonly StopSignal[], listener: (name: StopSignal) => void): () => void {
    const removals = names.map((name) => this.#surroundings.onSignal(name, () => listener(name)));
    return () => {
      for (const remove of removals) remove();
    };
  }
}

async function* linesOf(input: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of input) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** The user's folder for logins, by the XDG base directory specification. */
export function configFolder({ env, home }: Context): string {
  return join(env.XDG_CONFIG_HOME || join(home, ".config"), "node-server");
}

/** The user's folder for histories and records, by the same specification. */
export function stateFolder({ env, home }: Context): string {
  return join(env.XDG_STATE_HOME || join(home, ".local", "state"), "node-server");
}

/** Writes a file of the user as a whole. Only the user can read it, and enter the folders that are made for it. */
export async function writePrivate(path: string, text: string): Promise<void> {
  // It takes longer to load than most commands run.
  const { replaceFile } = await import("../base/local-fs/replace-file.ts");
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text, { mode: 0o600 });
}
