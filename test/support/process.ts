import { afterAll, test } from "bun:test";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Invocation } from "./invocation.ts";
import { configText, type TestNodeOptions, type WireReply } from "./node.ts";
import { program } from "./program.ts";
import { openSocket, type TestSocket } from "./socket.ts";
import { timeFactor } from "./tier.ts";
import { until, within } from "./until.ts";

/** A test that mostly waits for processes, so that those of one file run side by side. */
export function story(title: string, tell: () => Promise<void>, timeoutMs = 20_000): void {
  test.concurrent(title, tell, timeoutMs * timeFactor);
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  /** What is typed; without it standard input is at its end. */
  readonly stdin?: string;
  /** The working directory, where it is not the home. */
  readonly cwd?: string;
  /** A command that runs the program, such as one that takes rights away. */
  readonly as?: readonly string[];
  /** Another binary than that of this test run. */
  readonly binary?: string | undefined;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Reloaded is how a reload ended: the event, the parts of the server that it changed, and its line on the terminal. */
export interface Reloaded {
  readonly event: string;
  readonly parts: readonly string[];
  readonly line: string;
}

export const unchanged = { event: "config.unchanged" };
export const refused = { event: "config.refused" };

/** What a reload returns that changed these parts of the server. */
export function applied(...parts: string[]) {
  return { event: "config.applied", parts };
}

interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** A server, or another command, in a process of its own. */
export class Server implements AsyncDisposable {
  readonly exited: Promise<Finished>;
  stdout = "";
  stderr = "";
  readonly #child;
  readonly #readers: readonly ByteReader[];

  constructor(folder: string, args: readonly string[], options: RunOptions = {}) {
    const { env, stdin, cwd, as = [], binary } = options;
    this.#child = Bun.spawn([...as, ...(binary === undefined ? program : [binary]), ...args], {
      cwd: cwd ?? folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdin: stdin === undefined ? "ignore" : new Blob([stdin]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = [this.#child.stdout.getReader(), this.#child.stderr.getReader()];
    this.#readers = [out, err];
    const read = Promise.all([this.#collect(out, "stdout"), this.#collect(err, "stderr")]);
    this.exited = this.#child.exited.then(async () => {
      await read;
      const { exitCode: code, signalCode: signal } = this.#child;
      return { code, signal, stdout: this.stdout, stderr: this.stderr };
    });
  }

  async #collect(from: ByteReader, into: "stdout" | "stderr"): Promise<void> {
    const decoder = new TextDecoder();
    for (let part = await from.read(); !part.done; part = await from.read()) {
      this[into] += decoder.decode(part.value, { stream: true });
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Closes the reading ends of both its outputs, as a terminal or a `head` that goes away does. */
  async hangUp(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.cancel()));
  }

  /** Waits until standard error, from `from` on, holds a match. */
  says(words: RegExp, from = 0): Promise<RegExpExecArray> {
    return until(`the process says ${words}`, async () => {
      const ended = !this.alive;
      // What it said last may arrive after its end.
      if (ended) await this.exited;
      const found = words.exec(this.stderr.slice(from));
      if (found === null && ended) throw new Error(`it ended without ${words}:\n${this.stderr}`);
      return found ?? undefined;
    });
  }

  /** As printed by the start that made the Super Token. */
  get superToken(): string {
    return /^Super Token: (\S+)$/m.exec(this.stdout)?.[1] ?? "";
  }

  get rootPassword(): string {
    return /^Root Password: (\S+)$/m.exec(this.stdout)?.[1] ?? "";
  }

  /** The address it told last. */
  get url(): string {
    return [...this.stderr.matchAll(/listening on (https?:\S+)/g)].at(-1)?.[1] ?? "";
  }

  get address(): { host: string; port: number } {
    const { hostname, port } = new URL(this.url);
    return { host: hostname, port: Number(port) };
  }

  async ready(): Promise<this> {
    await this.says(/INFO server: listening on \S+\n/);
    // The credentials come through another pipe, whose turn to be read may be later.
    await Bun.sleep(10);
    return this;
  }

  send(method: string, params?: unknown): Promise<WireReply> {
    return sendTo(this.url, method, params);
  }

  async call(method: string, params?: unknown): Promise<unknown> {
    const reply = await this.send(method, params);
    if (reply.error !== undefined) throw new Error(`${method} failed: ${JSON.stringify(reply.error)}`);
    return reply.result;
  }

  /** A new token as text; it may do nothing. */
  async newToken(superToken = this.superToken): Promise<string> {
    const made = await this.call("token_create", [superToken, { token_limit: [] }]);
    const { key, secret } = made as { key: string; secret: string };
    return `${key}:${secret}`;
  }

  socket(): Promise<TestSocket> {
    return openSocket(this.url);
  }

  /** SIGHUP, and how it went: the event, and its line on the terminal. */
  async reload(): Promise<Reloaded> {
    const from = this.stderr.length;
    this.signal("SIGHUP");
    const [line, event = "", parts = "[]"] = await this.says(
      /^.* event=(config\.(?:applied|unchanged|refused))(?: parts=(\[.*?\]))?.*\n/m,
      from,
    );
    return { event, parts: JSON.parse(parts) as string[], line: line.trim() };
  }

  /** A polite stop, and how it ended. */
  stop(name: NodeJS.Signals = "SIGTERM"): Promise<Finished> {
    this.signal(name);
    return within(`the server ends on ${name}`, this.exited);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}

export async function sendTo(
  url: string,
  method: string,
  params: unknown = [],
  init: BunFetchRequestInit = {},
): Promise<WireReply> {
  const response = await fetch(`${url}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 }),
    keepalive: false,
    ...init,
  });
  return (await response.json()) as WireReply;
}

export const hello = "Node Server Is Running!";

/** What hello answers at `url`; undefined when nobody listens there. */
export async function helloAt(url: string, init?: BunFetchRequestInit): Promise<unknown> {
  return (await sendTo(url, "node-server_hello", [], init).catch(() => undefined))?.result;
}

export type Settings = Pick<TestNodeOptions, "top" | "logging" | "databaseKeys" | "files">;

/** A working directory for servers and commands; what was started in it ends with its scope. */
export class Home implements AsyncDisposable {
  readonly #started: (Server | Invocation)[] = [];

  readonly configPath: string;

  private constructor(readonly path: string) {
    this.configPath = join(path, "config.toml");
  }

  static async open(): Promise<Home> {
    return new Home(await mkdtemp(join(tmpdir(), "node-server-home-")));
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** Writes config.toml; the listener takes any free port unless `settings` say otherwise. */
  async configure(settings: Settings = {}, databaseUrl = sqliteUrl): Promise<void> {
    // By rename, so that a reload never reads half of it.
    await writeFile(`${this.configPath}.new`, configText(databaseUrl, settings), { mode: 0o600 });
    await rename(`${this.configPath}.new`, this.configPath);
  }

  /** Starts a server, or another command, without waiting for it. */
  launch(options?: RunOptions, args: readonly string[] = ["serve"]): Server {
    const server = new Server(this.path, args, options);
    this.#started.push(server);
    return server;
  }

  /**
   * Runs a command to its end, in the process of the test. `serve`, which uses the process itself, gets one of its own, and so does
   * what runs with other rights or from another binary.
   */
  run(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    const { as, binary, ...rest } = options;
    if (args.includes("serve") || as !== undefined || binary !== undefined)
      return this.runProcess(args, options);
    const invocation = new Invocation(this.path, args, rest);
    this.#started.push(invocation);
    return invocation.ends();
  }

  /** Runs a command to its end, as a process. */
  runProcess(args: readonly string[], options?: RunOptions): Promise<Finished> {
    return within(`\`${args.join(" ")}\` ends`, this.launch(options, args).exited);
  }

  serve(options?: RunOptions): Promise<Server> {
    return this.launch(options).ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map((started) => started[Symbol.asyncDispose]()));
    await rm(this.path, { recursive: true, force: true });
  }
}

export const sqliteUrl = "sqlite://data/node.db?mode=rwc";

/**
 * sharedServer returns a function that starts the program once for all stories of this file, in a home of its own. Call it at the top
 * of a file; the program ends after the last story.
 */
export function sharedServer(): () => Promise<Server> {
  let home: ReturnType<typeof newHome> | undefined;
  let serving: Promise<Server> | undefined;
  afterAll(async () => {
    await (await home)?.[Symbol.asyncDispose]();
  });
  return () => {
    home ??= newHome();
    serving ??= home.then((opened) => opened.serve());
    return serving;
  };
}

/** A home whose config.toml asks for any free port. */
export async function newHome(settings?: Settings, databaseUrl?: string): Promise<Home> {
  const home = await Home.open();
  await home.configure(settings, databaseUrl);
  return home;
}

/** wholeLines are the lines of a text that grows: who reads it may see the beginning of what is being written. */
export function wholeLines(text: string): string[] {
  return text.split("\n").slice(0, -1);
}
