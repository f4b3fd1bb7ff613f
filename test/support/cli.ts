import { Invocation, type InvokeOptions, maxCommandMs } from "./invocation.ts";
import { type TestNode, type TestNodeOptions, testNode } from "./node.ts";
import { type Finished, Home, type RunOptions, type Server } from "./process.ts";
import { program } from "./program.ts";
import { until, within } from "./until.ts";

/** `errorOf` is the error that a command with `--json` printed when it failed. */
export function errorOf({ stdout }: Pick<Finished, "stdout">): Readonly<Record<string, unknown>> {
  const last = stdout.trimEnd().split("\n").at(-1) ?? "";
  return (JSON.parse(last) as { error: Readonly<Record<string, unknown>> }).error;
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
