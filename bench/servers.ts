import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const binary = "dist/node-server";
export const hello = '{"jsonrpc":"2.0","method":"node-server_hello","params":[],"id":1}';
export const helloAnswer = '{"jsonrpc":"2.0","result":"Node Server Is Running!","id":1}';

/** Known beforehand, so that nothing has to be read from what a first start prints. */
export const superToken = `bench:${crypto.randomUUID()}`;

/** A server of this run: how to start it, and where it will answer. */
export interface Program {
  readonly name: string;
  readonly command: readonly string[];
  readonly port: number;
}

export interface Running extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
}

export interface Bench extends AsyncDisposable {
  readonly folder: string;
  readonly databasePath: string;
  /** The compiled server on SQLite, with a database that exists. */
  readonly ours: Program;
  /** Bun alone, compiled with the same flags: answers a constant. */
  readonly ignoring: Program;
  /** The same, but it parses the body first. */
  readonly parsing: Program;
}

export async function openBench(): Promise<Bench> {
  await ensureBinary();
  const folder = await mkdtemp(join(tmpdir(), "node-server-bench-"));
  const port = freePort();
  const config = join(folder, "config.toml");
  const databasePath = join(folder, "node.db");
  const database = `sqlite://${databasePath}?mode=rwc`;
  await writeFile(
    config,
    `ws_listener = "127.0.0.1:${port}"\nstatic_path = "${join(folder, "static")}"\n[database]\ndatabase_url = "${database}"\nsql_timeout_ms = 10000\n`,
  );
  await finish([binary, "init", "-c", config], { NODE_SERVER_SUPER_TOKEN: superToken });
  const bare = join(folder, "bare");
  await compile("bench/bare.ts", bare);
  const bareProgram = (name: string, mode: string): Program => {
    const at = freePort();
    return { name, command: [bare, String(at), mode, helloAnswer], port: at };
  };
  return {
    folder,
    databasePath,
    ours: { name: "node-server", command: [binary, "serve", "-c", config], port },
    ignoring: bareProgram("bare Bun, body ignored", "ignore"),
    parsing: bareProgram("bare Bun, body parsed", "parse"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function ensureBinary(): Promise<void> {
  if (!(await Bun.file(binary).exists())) await finish(["npm", "run", "--silent", "build"]);
  const built = Bun.file(binary).lastModified;
  for await (const file of new Bun.Glob("src/**/*.ts").scan()) {
    if (Bun.file(file).lastModified <= built) continue;
    console.log(`NOTE: ${binary} is older than ${file}; npm run build makes a new one.`);
    return;
  }
}

/** As `scripts/build.ts` does it. */
async function compile(source: string, outfile: string): Promise<void> {
  const made = await Bun.build({
    entrypoints: [source],
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
    minify: true,
    bytecode: true,
  });
  if (!made.success) throw new AggregateError(made.logs, `${source} does not compile`);
}

function freePort(): number {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  server.stop();
  return server.port;
}

/** Without what the developer's shell says about logs. */
function environment(more: Record<string, string> = {}): Record<string, string | undefined> {
  const { RUST_LOG: _, ...env } = process.env;
  return { ...env, ...more };
}

/** Runs a command to its end; what it printed. */
export async function finish(command: readonly string[], env?: Record<string, string>): Promise<string> {
  const run = Bun.spawn([...command], { env: environment(env), stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([run.stdout.text(), run.stderr.text()]);
  if ((await run.exited) !== 0) throw new Error(`${command.join(" ")} failed: ${err || out}`);
  return out;
}

/** Starts a server; whether it answers yet is for the caller to find out. */
export function launch({ name, command, port }: Program, pin: readonly string[] = []): Running {
  const child = Bun.spawn([...pin, ...command], {
    env: environment(),
    stdio: ["ignore", "ignore", "ignore"],
  });
  return {
    name,
    pid: child.pid,
    url: `http://127.0.0.1:${port}/jsonrpc`,
    async [Symbol.asyncDispose]() {
      child.kill();
      const impatience = setTimeout(() => child.kill("SIGKILL"), 5000);
      await child.exited;
      clearTimeout(impatience);
    },
  };
}

export async function call(url: string, body: string): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  return response.text();
}

/** Asks until there is an answer; a refused connection costs a fraction of a millisecond. */
export async function firstAnswer({ name, url }: Running): Promise<string> {
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline) {
    try {
      return await call(url, hello);
    } catch {
      // Not yet.
    }
  }
  throw new Error(`${name} did not answer within 20 s`);
}

/** A token that is not super and holds one permission; the request with which it asks for itself. */
export async function ownTokenRequest({ url }: Running): Promise<string> {
  const limit = [{ scopes: ["global"], permissions: [{ node: "get_database_type" }] }];
  const answer = await call(url, request("token_create", [superToken, { token_limit: limit }]));
  const { result } = JSON.parse(answer) as { result: { key: string; secret: string } };
  return request("token_get", [`${result.key}:${result.secret}`]);
}

export function request(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 });
}
