import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import { User } from "../support/cli.ts";
import type { Invocation } from "../support/invocation.ts";
import {
  type StoreOptions,
  storesFor,
  type TestNode,
  type TestNodeOptions,
  testNode,
  titleOn,
} from "../support/node.ts";
import { type Finished, type Server, story } from "../support/process.ts";
import { type StoredFiles, storedFiles } from "../support/stored-site.ts";

interface LeftOut {
  readonly path: string;
  readonly reason: string;
  readonly why: string;
}

/** What a push prints with `--json`. */
export interface Pushed {
  readonly uploaded: number;
  readonly bytes: number;
  readonly unchanged: number;
  readonly compared: number;
  readonly deleted: number;
  readonly left_out: LeftOut[];
  readonly kept: LeftOut[];
  readonly failed: LeftOut[];
  readonly not_sent: number;
}

export interface DeploySite extends AsyncDisposable {
  readonly node: TestNode;
  readonly home: User;
  /** The folder that is pushed. */
  readonly local: string;
  /** The bucket's folder, where its files are on the server's disk. */
  readonly bucket: string;
  /** The files of the bucket, past the server. */
  readonly stored: StoredFiles;
  /** Every file of the bucket with its content, and every empty folder. */
  held(): Promise<Record<string, string>>;
  readonly env: Record<string, string>;
  run(...args: string[]): Promise<Finished>;
  start(env: Record<string, string>, ...args: string[]): Invocation;
  startProcess(env: Record<string, string>, ...args: string[]): Server;
  /** A push that must end with `code`; its summary. */
  push(...args: string[]): Promise<Pushed>;
}

/** A server with a bucket `site`, and a user whose home knows it. */
export async function deploySite(options: TestNodeOptions = {}): Promise<DeploySite> {
  const node = await testNode(options);
  const home = await User.open();
  await node.call("static-bucket_create", { token: node.superToken, name: "site" });
  const env = { HOME: home.path, NODE_SERVER_URL: node.url, NODE_SERVER_TOKEN: node.superToken };
  const start: DeploySite["start"] = (more, ...args) => home.launch(args, { env: { ...env, ...more } });
  const startProcess: DeploySite["startProcess"] = (more, ...args) =>
    home.process(args, { env: { ...env, ...more } });
  const run: DeploySite["run"] = (...args) => start({}, ...args).ends();
  const local = home.file("local");
  const stored = storedFiles(node);
  await mkdir(local);
  return {
    node,
    home,
    local,
    bucket: join(node.folder, "static", "site"),
    stored,
    held: async () => withoutFullFolders(await stored.below("")),
    env,
    run,
    start,
    startProcess,
    async push(...args) {
      const { code, stdout, stderr } = await run("push", local, "site", "--json", ...args);
      if (code !== 0) throw new Error(`push ended with ${code}:\n${stderr}`);
      return JSON.parse(stdout) as Pushed;
    },
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}

export async function fill(folder: string, files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** Every file below a folder with its content, and every empty folder. It may be changing: then it is read again. */
export function contents(folder: string): Record<string, string> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return contentsNow(folder);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || attempt === 100) throw error;
    }
}

function contentsNow(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true }).map(String).sort()) {
    const path = join(folder, name);
    if (!statSync(path).isDirectory()) found[name] = readFileSync(path, "latin1");
    else if (readdirSync(path).length === 0) found[`${name}/`] = "";
  }
  return found;
}

function withoutFullFolders(below: ReadonlyMap<string, Buffer | undefined>): Record<string, string> {
  const paths = [...below.keys()];
  const shown = paths.filter(
    (path) => !path.endsWith("/") || !paths.some((other) => other !== path && other.startsWith(path)),
  );
  return Object.fromEntries(shown.sort().map((path) => [path, below.get(path)?.toString("latin1") ?? ""]));
}

/** `story` on both stores of files. */
export function eachStoreStory(title: string, tell: (options: StoreOptions) => Promise<void>): void {
  for (const options of storesFor(title)) story(titleOn(title, options), () => tell(options));
}

export interface Gate extends AsyncDisposable {
  readonly url: string;
  /** `PUT index.html`, in the order in which they came to their end. */
  readonly done: string[];
  /** Cuts every connection and listens again after `away`. */
  breakWhile(away: () => Promise<unknown>): Promise<void>;
}

/**
 * Stands between a command and its server and sees every request; `before` can hold one up. `at` is its port, if it is not to be
 * a free one.
 */
export async function openGate(
  target: string,
  before: (what: string) => Promise<void> | void = () => {},
  at = 0,
): Promise<Gate> {
  const done: string[] = [];
  const listen = (port: number) =>
    Bun.serve({
      hostname: "127.0.0.1",
      port,
      idleTimeout: 60,
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        const path = decodeURIComponent(pathname.replace("/node/static-webdav/site/", ""));
        const what = `${request.method} ${path}`;
        const body = await request.arrayBuffer();
        await before(what);
        const answer = await fetch(target + pathname + search, {
          method: request.method,
          headers: request.headers,
          decompress: false,
          ...(body.byteLength === 0 ? {} : { body }),
        });
        done.push(what);
        const content = await answer.arrayBuffer();
        return new Response(answer.status === 204 ? null : content, {
          status: answer.status,
          headers: answer.headers,
        });
      },
    });
  let server = listen(at);
  const port = server.port ?? 0;
  const breakWhile = async (away: () => Promise<unknown>) => {
    await server.stop(true);
    await away();
    server = listen(port);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    done,
    breakWhile,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
