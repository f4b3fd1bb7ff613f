import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { chmod, link, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { VersionRecord } from "../../src/build.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { configText, type WireReply } from "./node.ts";
import { type Finished, sendTo, sqliteUrl, story } from "./process.ts";
import { openSocket } from "./socket.ts";
import { until, within } from "./until.ts";
import { digestOf, type Releases, type Version, type Versions } from "./update.ts";

/** The Super Token of every server here, given by the environment so that it outlives restarts. */
export const token = "updatingUpdating:updatingUpdatingUpdatingUpdating";
/** An update downloads, digests and starts a binary of 120 MB: seconds of work, and many times that beside other stories. */
const [patienceMs, storyMs] = [45_000, 90_000];

/** updateStory is a `story` with an update in it. */
export function updateStory(title: string, tell: () => Promise<void>, timeoutMs = storyMs): void {
  story(title, tell, timeoutMs);
}

/** A port outside of the range from which outgoing connections take theirs, so that it stays free over a restart. */
export async function quietPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const free = await new Promise<boolean>((done) => {
      const server = createServer()
        .once("error", () => done(false))
        .listen(port, "127.0.0.1", () => server.close(() => done(true)));
    });
    if (free) return port;
  }
  throw new Error("no port is free");
}

export interface InstallOptions {
  readonly releases?: Releases;
  /** TOML lines above the tables. */
  readonly top?: string;
  readonly databaseUrl?: string;
  /** TOML lines of `[files]`. */
  readonly files?: string;
  /** Runs it as another user. */
  readonly as?: readonly string[];
  /** The command in place of the binary. */
  readonly command?: readonly string[];
}

/** A server or another command, run from an installed binary. */
export class Program implements AsyncDisposable {
  stdout = "";
  stderr = "";
  readonly exited: Promise<Finished>;
  readonly #child;

  constructor(
    command: readonly string[],
    cwd: string,
    readonly url: string,
    env: Record<string, string>,
  ) {
    this.#child = Bun.spawn([...command], {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd, NODE_SERVER_SUPER_TOKEN: token, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const { stdout, stderr } = this.#child;
    const read = Promise.all([this.#collect(stdout, "stdout"), this.#collect(stderr, "stderr")]);
    this.exited = this.#child.exited.then(async () => {
      await read;
      const { exitCode: code, signalCode: signal } = this.#child;
      return { code, signal, stdout: this.stdout, stderr: this.stderr };
    });
  }

  async #collect(from: ReadableStream<Uint8Array>, into: "stdout" | "stderr"): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of from) this[into] += decoder.decode(bytes, { stream: true });
  }

  get pid(): number {
    return this.#child.pid;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async says(words: RegExp): Promise<void> {
    const said = async () => {
      const ended = !this.alive;
      // What it said last may arrive after its end.
      if (ended) await this.exited;
      if (words.test(this.stderr)) return true;
      if (ended) throw new Error(`it ended without ${words}:\n${this.stderr}`);
      return false;
    };
    await until(`the process says ${words}`, said, patienceMs).catch((error: unknown) => {
      throw new Error(`it said:\n${this.stderr}`, { cause: error });
    });
  }

  send(method: string, params?: unknown): Promise<WireReply> {
    return sendTo(this.url, method, params);
  }

  async call(method: string, params?: unknown): Promise<unknown> {
    const reply = await this.send(method, params);
    if (reply.error !== undefined) throw new Error(`${method} failed: ${JSON.stringify(reply.error)}`);
    return reply.result;
  }

  update(tag: string, as = token): Promise<WireReply> {
    return this.send("node-server_self_update", { token: as, tag });
  }

  /** Undefined while nobody answers. */
  async version(): Promise<string | undefined> {
    const reply = await this.send("node-server_version").catch(() => undefined);
    return (reply?.result as VersionRecord | undefined)?.cargo_version;
  }

  /** Until this version answers, under the process id that it was started with. */
  async runs({ tag }: Pick<Version, "tag">): Promise<void> {
    await until(
      `${tag} runs`,
      async () => {
        if (!this.alive) throw new Error(`the process ended:\n${this.stderr}`);
        return (await this.version()) === tag.slice(1);
      },
      patienceMs,
    );
  }

  async log(): Promise<LogEntry[]> {
    return (await this.call("node-server_log", { token })) as LogEntry[];
  }

  socket() {
    return openSocket(this.url);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  end(name: NodeJS.Signals): Promise<Finished> {
    this.signal(name);
    return within(`the process ends on ${name}`, this.exited);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}

/** A server installed in a folder `bin` of its own; what was started from it ends with its scope. */
export class Installation implements AsyncDisposable {
  readonly bin: string;
  readonly binary: string;
  readonly #options: InstallOptions;
  readonly #started: Program[] = [];

  private constructor(
    readonly path: string,
    readonly url: string,
    options: InstallOptions,
  ) {
    this.#options = options;
    this.bin = join(path, "bin");
    this.binary = join(this.bin, "node-server");
  }

  static async open(options: InstallOptions = {}): Promise<Installation> {
    const path = await mkdtemp(join(tmpdir(), "node-server-installed-"));
    const port = await quietPort();
    const releases = options.releases === undefined ? "" : `release_url = "${options.releases.url}"\n`;
    const top = `ws_listener = "127.0.0.1:${port}"\n${releases}${options.top ?? ""}`;
    const { files } = options;
    await writeFile(
      join(path, "config.toml"),
      configText(options.databaseUrl ?? sqliteUrl, { top, ...(files !== undefined && { files }) }),
    );
    const made = new Installation(path, `http://127.0.0.1:${port}`, options);
    await mkdir(made.bin);
    return made;
  }

  /** Puts a copy into place, whose mode may be told. */
  async put({ path }: Pick<Version, "path">, mode = 0o755): Promise<void> {
    // By another process: one that this process starts in the same moment could hold a file open that is written here,
    // and then it cannot be run.
    Bun.spawnSync(["cp", "--remove-destination", path, this.binary]);
    await chmod(this.binary, mode);
  }

  launch(args: readonly string[] = ["serve"], env: Record<string, string> = {}): Program {
    const command = [...(this.#options.as ?? []), ...(this.#options.command ?? [this.binary]), ...args];
    const program = new Program(command, this.path, this.url, env);
    this.#started.push(program);
    return program;
  }

  async serve(env?: Record<string, string>): Promise<Program> {
    const server = this.launch(["serve"], env);
    await server.says(/INFO server: listening on \S+\n/);
    return server;
  }

  run(args: readonly string[], env?: Record<string, string>): Promise<Finished> {
    return within(`\`${args.join(" ")}\` ends`, this.launch(args, env).exited, patienceMs);
  }

  /** What is in the folder of the binary. */
  files(): string[] {
    return readdirSync(this.bin).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map((program) => program[Symbol.asyncDispose]()));
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Version 1.0.0, installed; by a hard link to it, which costs nothing. */
export async function install(versions: Versions, options: InstallOptions = {}): Promise<Installation> {
  const home = await Installation.open(options);
  await link(versions.one.path, home.binary);
  return home;
}

/** Of the configuration: a restart into a new version leaves more than its 3 s to do something before it. */
export const lateRestart = "drain_seconds = 8\n";

export const justTheBinary = ["node-server"];
export const bothBinaries = ["node-server", "node-server.old"];

/** Expects that the server has answered an update and neither restarts nor will. */
export async function expectNoRestart(server: Program): Promise<void> {
  const events = (await server.log()).map(({ fields }) => fields.event);
  expect(events).not.toContain("server.restart_scheduled");
  expect(events).not.toContain("server.restarting");
}

/** What a server holds that an update must not touch. */
export async function furnish(server: Program) {
  const { key, secret } = (await server.call("token_create", [token, { token_limit: [] }])) as {
    key: string;
    secret: string;
  };
  await server.call("static-bucket_create", { token, name: "site" });
  await server.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body: "kept" });
  return async () => {
    expect(await server.send("token_get", [`${key}:${secret}`])).toHaveProperty("result.token_key", key);
    expect(await (await fetch(`${server.url}/node/static/site/a.txt`)).text()).toBe("kept");
  };
}

export async function expectInPlace(home: Installation, now: Version, before: Version): Promise<void> {
  expect(await digestOf(home.binary)).toBe(now.digest);
  expect(await digestOf(`${home.binary}.old`)).toBe(before.digest);
}
