import { link, mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { configText, initDatabase, tempFolder } from "./node.ts";

const root = resolve(import.meta.dir, "../..");
export const source = resolve(root, "src/main.ts");
const built = await tempFolder();
export const binary = join(built.path, "node-server");

/** buildMs is the limit of a `beforeAll` that compiles the binary. */
export const buildMs = 60_000;

/** Compiles the binary, or copies the one that CI names. For `beforeAll`. */
export function buildBinary() {
  const named = process.env.NODE_SERVER_BINARY;
  if (named !== undefined)
    return Bun.write(binary, Bun.file(resolve(named))).then(() => run(["chmod", "755", binary]));
  return run([process.execPath, "scripts/build.ts", binary, "1.2.3"], { cwd: root });
}

/** For `afterAll`. */
export function removeBinary(): Promise<void> {
  return Promise.resolve(built[Symbol.asyncDispose]());
}

interface How {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** Variables that are not there at all. */
  readonly unset?: readonly string[];
}

export async function run(command: readonly string[], { cwd = built.path, env, unset = [] }: How = {}) {
  const without = unset.length === 0 ? [] : ["env", ...unset.flatMap((name) => ["-u", name])];
  const child = Bun.spawn([...without, ...command], {
    cwd,
    // Whoever runs the tests, with sudo or without: a server is for an ordinary user unless a story says otherwise.
    env: { PATH: process.env.PATH, HOME: built.path, SUDO_USER: "daemon", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

interface Place {
  readonly bin?: string;
  readonly etc?: string;
  /** TOML lines above the tables. */
  readonly top?: string;
  readonly logging?: string;
  readonly database?: string;
  /** TOML lines of `[files]`. */
  readonly files?: string;
  /** False: the database is not made yet. */
  readonly isMade?: boolean;
}

export const updating = 'release_url = "https://releases.example.com"';

/** An installed server: its binary and its configuration, in folders of these names, and its database. */
export async function install({
  bin = "bin",
  etc = "etc",
  top = "",
  logging,
  database,
  files = "",
  isMade = true,
}: Place = {}) {
  const folder = await tempFolder();
  const [program, config] = [join(folder.path, bin, "node-server"), join(folder.path, etc, "config.toml")];
  const units = join(folder.path, "units");
  await mkdir(join(folder.path, bin));
  await mkdir(join(folder.path, etc));
  await link(binary, program);
  const file = join(folder.path, etc, "node.db").split("/").map(encodeURIComponent).join("/");
  if (isMade)
    await initDatabase(`sqlite://${file}?mode=rwc`, `serviceInstalled:${"serviceInstalled".repeat(2)}`);
  const more = { top, files, ...(logging === undefined ? {} : { logging }) };
  await writeFile(config, configText(database ?? "sqlite://node.db?mode=rwc", more));
  return {
    folder: folder.path,
    program,
    config,
    units,
    service: (args: readonly string[], how?: How) =>
      run([program, "service", ...args, "-c", config], { cwd: folder.path, ...how }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
