import { type Clock, systemClock } from "../../src/base/clock.ts";
import { Context, type Output, type StopSignal } from "../../src/cli/context.ts";
import { run } from "../../src/cli/run.ts";
import { type TestNode, type TestNodeOptions, testNode } from "./node.ts";
import { type Finished, Home, type RunOptions, type Server } from "./process.ts";
import { program } from "./program.ts";
import { until, within } from "./until.ts";

/** The longest time that a command in process may take; it has a server on the same machine. */
const maxCommandMs = 20_000;

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

/**
 * Somebody at a shell, with a home folder of their own. Commands run in the process of the test; what is about a process itself
 * (a kill, a pipe, a terminal, the runtime's own variables) asks for one.
 */
export class User implements AsyncDisposable {
  readonly #home: Home;
  readonly #invocations: Invocation[] = [];
  readonly #terminals: Terminal[] = [];

  private constructor(home: Home) {
    this.#home = home;
  }

  static async open(): Promise<User> {
    return new User(await Home.open());
  }

  /** The home folder, in which commands run. */
  get path(): string {
    return this.#home.path;
  }

  file(name: string): string {
    return this.#home.file(name);
  }

  /** Starts a command without waiting for it. */
  launch(args: readonly string[], options?: InvokeOptions): Invocation {
    const invocation = new Invocation(this.#home.path, args, options);
    this.#invocations.push(invocation);
    return invocation;
  }

  run(args: readonly string[], options?: InvokeOptions): Promise<Finished> {
    return this.launch(args, options).ends();
  }

  /** A run that must end well; what it said on standard output. */
  async does(args: readonly string[], options?: InvokeOptions): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`\`${args.join(" ")}\` ended with ${code}:\n${stdout}${stderr}`);
    return stdout;
  }

  /** Runs a command as a process. */
  runProcess(args: readonly string[], options?: RunOptions): Promise<Finished> {
    return within(`\`${args.join(" ")}\` ends`, this.process(args, options).exited, maxCommandMs);
  }

  /** Starts a command as a process. */
  process(args: readonly string[], { env, ...options }: RunOptions = {}): Server {
    return this.#home.launch({ ...options, env: { HOME: this.#home.path, ...env } }, args);
  }

  /** A line for bash in which `"$@"` is the command. */
  async shell(line: string, args: readonly string[]): Promise<{ stdout: string; code: number }> {
    const run = Bun.spawn(["bash", "-c", line, "bash", ...program, ...args], {
      cwd: this.#home.path,
      env: { PATH: process.env.PATH, HOME: this.#home.path },
      stdin: "ignore",
    });
    const [stdout, code] = await Promise.all([run.stdout.text(), run.exited]);
    return { stdout, code };
  }

  /** The command on a pseudo-terminal. */
  terminal(args: readonly string[], env: Record<string, string> = {}): Terminal {
    return this.typing([...program, ...args], env);
  }

  /** Any program on a pseudo-terminal. */
  typing(command: readonly string[], env: Record<string, string> = {}): Terminal {
    const terminal = new Terminal(command, this.#home.path, { HOME: this.#home.path, TERM: "xterm", ...env });
    this.#terminals.push(terminal);
    return terminal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#terminals, ...this.#invocations].map((running) => running[Symbol.asyncDispose]()),
    );
    await this.#home[Symbol.asyncDispose]();
  }
}

/** A command on a pseudo-terminal of util-linux's `script`; both its outputs are on the screen. */
export class Terminal implements AsyncDisposable {
  screen = "";
  readonly exited: Promise<number>;
  readonly #child;

  constructor(words: readonly string[], cwd: string, env: Record<string, string>) {
    const command = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    // `exec`, because a shell in between would hear Ctrl+C as well and tell its own exit code.
    this.#child = Bun.spawn(["script", "-qefc", `exec ${command}`, "/dev/null"], {
      cwd,
      env: { PATH: process.env.PATH, SHELL: "/bin/sh", ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const read = this.#collect();
    this.exited = this.#child.exited.then(async (code) => {
      await read;
      return code;
    });
  }

  async #collect(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stdout) this.screen += decoder.decode(bytes, { stream: true });
  }

  async type(keys: string): Promise<void> {
    this.#child.stdin.write(keys);
    await this.#child.stdin.flush();
  }

  /** Waits until the screen, from `from` on, shows a match. */
  shows(words: RegExp, from = 0): Promise<RegExpExecArray> {
    return until(`the screen shows ${words}`, () => words.exec(this.screen.slice(from)) ?? undefined).catch(
      (error: Error) => {
        throw new Error(`${error.message}; it shows:\n${this.screen}`);
      },
    );
  }

  ends(): Promise<number> {
    return within("the command ends", this.exited);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The terminal goes away, and what runs on it is told so.
    this.#child.kill("SIGTERM");
    await this.exited;
  }
}

export interface Scene extends AsyncDisposable {
  readonly node: TestNode;
  readonly user: User;
}

/** A server, and a user who is logged in to it with the Super Token as `here`. */
export async function loggedIn(options?: TestNodeOptions): Promise<Scene> {
  const [node, user] = await Promise.all([testNode(options), User.open()]);
  await user.does(["login", node.url, "--name", "here"], { stdin: `${node.superToken}\n` });
  return {
    node,
    user,
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}
