import { test } from "bun:test";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildClient } from "../../scripts/build-client.ts";
import type { StoreOptions } from "../support/node.ts";
import type { Finished } from "../support/process.ts";
import { madeOnce } from "../support/test-run.ts";
import { chosenFor } from "../support/tier.ts";
import { until, within } from "../support/until.ts";

export type Runtime = "node" | "bun";

const node = Bun.which("node");
const programs: Readonly<Record<Runtime, string | null>> = { node, bun: process.execPath };
/** Node 20 has a WebSocket only behind a flag. */
const flags = node !== null && !hasWebSocket(node) ? ["--experimental-websocket"] : [];

function hasWebSocket(program: string): boolean {
  return Bun.spawnSync([program, "-p", "typeof WebSocket"]).stdout.toString().trim() === "function";
}

/** eachRuntime declares a story with the built package on both runtimes; the fast tier runs it on the one that its title chooses. */
export function eachRuntime(title: string, story: (runtime: Runtime) => Promise<void>): void {
  for (const runtime of chosenFor(title, ["node", "bun"] as const)) {
    if (programs[runtime] === null) console.log("SKIPPED: the stories of the client need node 20 or later");
    else test(`${title} (${runtime})`, () => story(runtime));
  }
}

/**
 * The same story of files on both runtimes, and on both stores of files. Not on each pair of them: the client does not see the store,
 * nor does the server see the runtime.
 */
export function eachRuntimeAndStore(
  title: string,
  story: (runtime: Runtime, store: StoreOptions) => Promise<void>,
): void {
  eachRuntime(title, (runtime) =>
    story(runtime, { store: runtime === "node" ? "disk" : "objects over postgres" }),
  );
}

/** The package as `npm run build:client` makes it, once for a test run. */
export function builtPackage(): Promise<string> {
  return madeOnce("client", buildClient);
}

/** A project that has the package installed; scripts that run in it end with its scope. */
export class Consumer implements AsyncDisposable {
  readonly #scripts: Script[] = [];

  private constructor(readonly path: string) {}

  static async open(): Promise<Consumer> {
    const path = await mkdtemp(join(tmpdir(), "node-server-consumer-"));
    await writeFile(join(path, "package.json"), '{"type":"module"}');
    await Bun.write(join(path, "node_modules/.keep"), "");
    await symlink(await builtPackage(), join(path, "node_modules/node-server-client"));
    await symlink(resolve(import.meta.dir, "../../node_modules/ws"), join(path, "node_modules/ws"));
    return new Consumer(path);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** Starts a module. `server` is a client for `url`. */
  async start(
    runtime: Runtime,
    code: string,
    { url = "http://127.0.0.1:9", token = "", env = {} }: Login = {},
  ) {
    const name = `script-${this.#scripts.length}.js`;
    const head = `import * as client from "node-server-client";\nconst server = new client.NodeServerClient(${JSON.stringify(url)}, { token: ${JSON.stringify(token)} });\n`;
    await writeFile(this.file(name), head + code);
    return this.startFile(runtime, name, env);
  }

  startFile(runtime: Runtime, name: string, env: Record<string, string> = {}): Script {
    const program = [programs[runtime] ?? runtime, ...(runtime === "node" ? flags : [])];
    const script = new Script([...program, name], this.path, env);
    this.#scripts.push(script);
    return script;
  }

  /** Runs a module to its end, which must be a good one; what it printed. */
  async run(runtime: Runtime, code: string, login?: Login): Promise<string[]> {
    const script = await this.start(runtime, code, login);
    return script.lines();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#scripts.map((script) => script[Symbol.asyncDispose]()));
    await rm(this.path, { recursive: true, force: true });
  }
}

export interface Login {
  readonly url?: string;
  readonly token?: string;
  readonly env?: Record<string, string>;
}

/** A program of a user, while it runs. */
export class Script implements AsyncDisposable {
  stdout = "";
  readonly exited: Promise<Finished>;
  readonly #child;

  constructor(command: readonly string[], cwd: string, env: Record<string, string>) {
    this.#child = Bun.spawn([...command], {
      cwd,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: "1", ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const errors = this.#child.stderr.text();
    const read = this.#collect();
    this.exited = this.#child.exited.then(async () => {
      await read;
      const { exitCode: code, signalCode: signal } = this.#child;
      return { code, signal, stdout: this.stdout, stderr: await errors };
    });
  }

  async #collect(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stdout) this.stdout += decoder.decode(bytes, { stream: true });
  }

  /** Waits until the output holds a match. */
  says(words: RegExp): Promise<RegExpExecArray> {
    return until(`the script says ${words}`, async () => {
      const ended = this.#child.exitCode !== null;
      const finished = ended ? await this.exited : undefined;
      const found = words.exec(this.stdout);
      if (found === null && finished !== undefined)
        throw new Error(`it ended without ${words}:\n${finished.stdout}${finished.stderr}`);
      return found ?? undefined;
    });
  }

  /** What it printed when it ended by itself and well. */
  async lines(): Promise<string[]> {
    const { code, stdout, stderr } = await within("the script ends", this.exited);
    if (code !== 0) throw new Error(`the script ended with ${code}:\n${stdout}${stderr}`);
    return stdout.split("\n").filter((line) => line !== "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}
