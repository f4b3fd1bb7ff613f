import { link, mkdir, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { compile, ownTriple } from "../../scripts/compile.ts";
import type { VersionRecord } from "../../src/build.ts";
import { binaryName } from "../../src/update/release.ts";
import { ReleaseServer } from "../../src/update/release-server.ts";
import { packedConsole } from "./node.ts";
import { atRunEnd, madeOnce } from "./test-run.ts";
import { tier } from "./tier.ts";

export const root = resolve(import.meta.dir, "../..");

export interface Version {
  readonly tag: string;
  readonly path: string;
  readonly digest: string;
}

/** Two really compiled versions and a folder of releases with both. */
export interface Versions {
  readonly folder: string;
  readonly one: Version;
  readonly two: Version;
  readonly record: VersionRecord;
  /** What a release calls the binary of this machine. */
  readonly name: string;
  readonly releases: ReleaseServer;
  readonly releasesFolder: string;
  /** The product with its version changed and one of its modules replaced in part; the path of the binary. */
  compileBroken(version: string, module: string, replacement: string): Promise<string>;
}

/** compileMs is the limit of a `beforeAll` that asks for the versions: a busy machine may take that long for two compilations. */
export const compileMs = 180_000;

let known: Promise<Versions> | undefined;

/** The versions, compiled once for a test run. */
export function compileVersions(): Promise<Versions> {
  known ??= readVersions();
  return known;
}

async function readVersions(): Promise<Versions> {
  atRunEnd(async () => {
    known = undefined;
  });
  const folder = await madeOnce("versions", makeVersions);
  const versionAt = async (version: string): Promise<Version> => {
    const path = join(folder, version);
    return { tag: `v${version}`, path, digest: await digestOf(path) };
  };
  const [one, two] = [await versionAt("1.0.0"), await versionAt("2.0.0")];
  const record = JSON.parse(await does([one.path, "version", "--json"], folder)) as VersionRecord;
  const releasesFolder = join(folder, "releases");
  return {
    folder,
    one,
    two,
    record,
    name: binaryName(record.cargo_target_triple),
    releasesFolder,
    releases: new ReleaseServer(releasesFolder),
    compileBroken(version, module, replacement) {
      const name = `broken-${version}-${Bun.hash(module + replacement).toString(36)}`;
      const real = join(root, "src", module);
      return madeOnce(name, (outfile) =>
        compileWith({ wrapper: `${outfile}.ts`, real, replacement, outfile, version, record }),
      );
    },
  };
}

/** makeVersions makes the folder of both versions, with the releases of them. */
async function makeVersions(folder: string): Promise<void> {
  await mkdir(folder);
  const [pack, triple] = [await packedConsole(), ownTriple()];
  for (const version of ["1.0.0", "2.0.0"]) {
    const outfile = join(folder, version);
    // The few starts of the fast tier cost less than the bytecode.
    await compile({ outfile, version, triple, pack, bytecode: tier !== "fast" });
    const release = join(folder, "releases", `v${version}`);
    await mkdir(release, { recursive: true });
    await link(outfile, join(release, binaryName(triple)));
  }
}

interface Replaced {
  /** The path of the module that stands in for `real`. */
  readonly wrapper: string;
  readonly real: string;
  readonly replacement: string;
  readonly outfile: string;
  readonly version: string;
  readonly record: VersionRecord;
}

async function compileWith({
  wrapper,
  real,
  replacement,
  outfile,
  version,
  record,
}: Replaced): Promise<void> {
  await writeFile(
    wrapper,
    `import * as real from ${JSON.stringify(real)};\nexport * from ${JSON.stringify(real)};\n${replacement}\n`,
  );
  const made = await Bun.build({
    entrypoints: [join(root, "src/main.ts")],
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
    define: { BUILD_RECORD: JSON.stringify({ ...record, cargo_version: version }) },
    plugins: [
      {
        name: "replace a module",
        setup: (build) =>
          void build.onResolve({ filter: /\.ts$/ }, ({ path, importer }) =>
            importer !== wrapper && resolve(importer, "..", path) === real ? { path: wrapper } : undefined,
          ),
      },
    ],
  });
  if (!made.success) throw new AggregateError(made.logs, `${outfile} was not compiled`);
}

async function does(command: string[], cwd: string): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${out}${err}`);
  return out;
}

/** digestOf tells binaries of 120 MB apart. It is cheap, and not secure. */
export async function digestOf(path: string): Promise<string> {
  return Bun.hash(await Bun.file(path).bytes()).toString(16);
}

/** A small program that says it is the server's binary; on `serve` it runs these lines of shell. */
export function script(record: Partial<VersionRecord>, onServe = "exit 1"): string {
  // The subject of a commit may hold an apostrophe.
  const told = JSON.stringify(record).replaceAll("'", "\\u0027");
  return `#!/bin/sh\nif [ "$1" = version ]; then printf '%s\\n' '${told}'; exit 0; fi\n${onServe}\n# ${"x".repeat(2000)}\n`;
}

/** Serves the versions, except where a story answers something else. */
export class Releases implements Disposable {
  answer: (request: Request) => Response | undefined | Promise<Response | undefined> = () => undefined;
  readonly #server;

  constructor(versions: Versions) {
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      // On a busy machine a download of some seconds is no reason to hang up.
      idleTimeout: 0,
      fetch: async (request) => (await this.answer(request)) ?? versions.releases.answer(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }
}

/** Sends bytes as no HTTP library would: `tell` is handed each connection once a request has come. */
export async function rawServer(
  tell: (socket: Socket) => void,
): Promise<{ readonly url: string } & Disposable> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {}).once("data", () => tell(socket));
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.dispose]: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

/** Sends the file in small pieces, so that its way takes about this long. The last piece waits for `mayEnd`. */
export function slowServer(path: string, ms: number, mayEnd?: Promise<void>): ReturnType<typeof rawServer> {
  const file = Bun.file(path);
  const pieces = 40;
  const step = Math.ceil(file.size / pieces);
  return rawServer(async (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${file.size}\r\n\r\n`);
    for (let at = 0; at < file.size && !socket.destroyed; at += step) {
      await Bun.sleep(ms / pieces);
      if (at + step >= file.size) await mayEnd;
      socket.write(await file.slice(at, at + step).bytes());
    }
  });
}
