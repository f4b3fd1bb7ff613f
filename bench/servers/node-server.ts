import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rpcText } from "../load/http-request.ts";
import { answered, finish, freePort, launch, type Program, type Running } from "./program.ts";

export const binary = "dist/node-server";
export const hello = rpcText("node-server_hello", []);
export const helloAnswer = '{"jsonrpc":"2.0","result":"Node Server Is Running!","id":1}';

/** Where Linux has a file system in memory. */
const tmpfs = "/dev/shm";

/** superToken is chosen beforehand, so that nothing has to be read from what a first start prints. */
export const superToken = `bench:${crypto.randomUUID()}`;

/** Settings that differ from the default, as TOML. */
export interface Settings {
  readonly top?: string;
  readonly logging?: string;
  readonly database?: string;
  /** Another database than a SQLite file in the site's folder. It exists and is empty. */
  readonly databaseUrl?: string;
  /** The table that names the store of the files. */
  readonly files?: string;
  /** Another folder for the buckets than one in the site's folder. It exists. */
  readonly buckets?: string;
}

/** Site is a server of ours with a folder and a database of its own. */
export interface Site {
  readonly program: Program;
  /** Of the SQLite file. */
  readonly databasePath: string;
  /** What `static_path` names. */
  readonly buckets: string;
}

/** Bench is the folder of a run, removed at its end. */
export interface Bench extends AsyncDisposable {
  readonly folder: string;
  /** A folder on a file system in memory; undefined where the system has none. */
  readonly memoryFolder: string | undefined;
  /** The compiled server, on SQLite unless the settings say otherwise, with a database that exists. */
  site(name: string, settings?: Settings): Promise<Site>;
  /** A server of `bench/servers/`, compiled with the same flags. It serves the files below `folder`. */
  minimal(kind: "bare" | "least", folder: string): Promise<Program>;
}

export async function openBench(): Promise<Bench> {
  await ensureBinary();
  const name = "node-server-bench-";
  const folder = await mkdtemp(join(tmpdir(), name));
  const memoryFolder = existsSync(tmpfs) ? await mkdtemp(join(tmpfs, name)) : undefined;
  return {
    folder,
    memoryFolder,
    site: (name, settings = {}) => makeSite(join(folder, name), settings),
    async minimal(kind, files) {
      const program = join(folder, kind);
      if (!(await Bun.file(program).exists())) await compile(`bench/servers/${kind}.ts`, program);
      const port = freePort();
      return { name: kind, command: [program, String(port), files, helloAnswer], port };
    },
    async [Symbol.asyncDispose]() {
      for (const each of [folder, memoryFolder])
        if (each !== undefined) await rm(each, { recursive: true, force: true });
    },
  };
}

async function makeSite(folder: string, settings: Settings): Promise<Site> {
  const { top = "", logging = "", database = "", databaseUrl, files = "" } = settings;
  const port = freePort();
  const [config, databasePath] = [join(folder, "config.toml"), join(folder, "node.db")];
  const buckets = settings.buckets ?? join(folder, "static");
  await mkdir(folder, { recursive: true });
  await mkdir(buckets, { recursive: true });
  await writeFile(
    config,
    `ws_listener = "127.0.0.1:${port}"
static_path = "${buckets}"
jsonrpc_max_connections = 2000
${top}
[logging]
${logging}
[database]
database_url = "${databaseUrl ?? `sqlite://${databasePath}?mode=rwc`}"
${database}
[files]
${files}
`,
  );
  await finish([binary, "init", "-c", config], { NODE_SERVER_SUPER_TOKEN: superToken });
  return {
    program: { name: "node-server", command: [binary, "serve", "-c", config], port },
    databasePath,
    buckets,
  };
}

/** Starts a server of ours, or the bare one, and waits for its first answer. */
export async function start(program: Program, pin: readonly string[] = []): Promise<Running> {
  await using starting = new AsyncDisposableStack();
  const server = starting.use(launch(program, pin));
  const answer = await answered(server, () => post(program.port, hello));
  if (answer !== helloAnswer) throw new Error(`${program.name} answered ${answer}`);
  starting.move();
  return server;
}

export async function post(port: number, body: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  return response.text();
}

/** Calls a method and returns its result. */
export async function call<T>(port: number, method: string, params: unknown): Promise<T> {
  const answer = JSON.parse(await post(port, rpcText(method, params))) as { result: T; error?: unknown };
  if (answer.error !== undefined) throw new Error(`${method} failed: ${JSON.stringify(answer.error)}`);
  return answer.result;
}

/** Creates a bucket, and a token that may do everything with its files and nothing else. */
export async function createBucket(port: number, name: string): Promise<string> {
  await call(port, "static-bucket_create", [superToken, name]);
  const permissions = ["read", "write", "list", "delete"].map((right) => ({ static_bucket_file: right }));
  const limit = [{ scopes: [{ static_bucket: name }], permissions }];
  const made = await call<{ key: string; secret: string }>(port, "token_create", [
    superToken,
    { token_limit: limit },
  ]);
  return `${made.key}:${made.secret}`;
}

async function ensureBinary(): Promise<void> {
  if (!(await Bun.file(binary).exists())) await finish(["npm", "run", "--silent", "build"]);
  const built = Bun.file(binary).lastModified;
  for await (const file of new Bun.Glob("src/**/*.{ts,tsx}").scan()) {
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
