import { createHash } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { constants, gzip, zstdCompress } from "node:zlib";
import { version } from "../package.json";
import { messageOf } from "../src/base/fault.ts";
import { bundleConsole, packConsole } from "../src/bundle.ts";
import { completionScripts, shells } from "../src/cli/completion/completion.ts";
import { manPage } from "../src/cli/man-page.ts";
import { commands } from "../src/cli/program.ts";
import { binaryName, parseTag } from "../src/update/release.ts";
import { compile, ownTriple } from "./compile.ts";
import { readSecretKey, signFile } from "./minisign.ts";

/** Triple → the package on npm that has its runtime, and what Bun calls it. */
const targets: Readonly<Record<string, { readonly runtime: string; readonly target: string }>> = {
  "x86_64-unknown-linux-gnu": { runtime: "linux-x64", target: "bun-linux-x64" },
  "x86_64-unknown-linux-musl": { runtime: "linux-x64-musl", target: "bun-linux-x64-musl" },
  "aarch64-unknown-linux-gnu": { runtime: "linux-aarch64", target: "bun-linux-arm64" },
  "aarch64-unknown-linux-musl": { runtime: "linux-aarch64-musl", target: "bun-linux-arm64-musl" },
  "aarch64-apple-darwin": { runtime: "darwin-aarch64", target: "bun-darwin-arm64" },
  "x86_64-apple-darwin": { runtime: "darwin-x64", target: "bun-darwin-x64" },
  "x86_64-pc-windows-msvc": { runtime: "windows-x64", target: "bun-windows-x64" },
};

const help = `Makes the binaries of every system.

npm run release -- [options]
  --key FILE       sign with this minisign secret key without password (default: RELEASE_KEY in the environment)
  --out FOLDER     where they go; what is in it is removed first (default: dist/release)
  --only TRIPLE    one target, repeatable: ${Object.keys(targets).join(", ")}
  --version X.Y.Z  the version (default: ${version})
  --level N        how hard zstd compresses, 1 to 19 (default: 19)
  --help           this text
`;

/** A mistake of whoever runs this: said in one line, without a stack. */
function refuse(message: string): never {
  console.error(`release: ${message}; \`npm run release -- --help\` tells more`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        key: { type: "string" },
        out: { type: "string", default: "dist/release" },
        only: { type: "string", multiple: true },
        version: { type: "string", default: version },
        level: { type: "string", default: "19" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    return refuse(messageOf(error));
  }
}

const values = options();
if (values.help) {
  console.log(help);
  process.exit(0);
}
const keyPath = values.key ?? process.env.RELEASE_KEY;
const tag = `v${values.version}`;
const folder = resolve(values.out);
const chosen = values.only ?? Object.keys(targets);
const runtimes = join(folder, ".runtimes");

const unknown = chosen.find((triple) => targets[triple] === undefined);
if (unknown !== undefined)
  refuse(`no target is called ${unknown}; there are ${Object.keys(targets).join(", ")}`);
try {
  parseTag(tag);
} catch (error) {
  refuse(`--version ${values.version}: ${messageOf(error)}`);
}
const key = keyPath === undefined ? undefined : readKey(keyPath);
await rm(folder, { recursive: true, force: true });
await mkdir(runtimes, { recursive: true });
const pack = packConsole(await bundleConsole());
const sums: string[] = [];
try {
  for (const triple of chosen) sums.push(...(await release(triple)));
} finally {
  await rm(runtimes, { recursive: true, force: true });
}
for (const [name, text] of Object.entries(texts())) {
  await Bun.write(join(folder, name), text);
  sums.push(`${await sha256(join(folder, name))}  ${name}`);
}
await Bun.write(join(folder, "SHA256SUMS"), `${sums.join("\n")}\n`);
await Bun.write(join(folder, "TAG"), `${tag}\n`);
console.log(
  `${folder}: ${tag}, ${(await readdir(folder)).length} files${key === undefined ? ", not signed (--key)" : ", signed"}`,
);

/** The files that are the same for every system: the manual page, and a completion script for each shell. */
function texts(): Record<string, string> {
  const scripts = shells.map((shell) => [`node-server.${shell}`, completionScripts[shell]] as const);
  return { "node-server.1": manPage(commands, values.version), ...Object.fromEntries(scripts) };
}

function readKey(path: string) {
  try {
    return readSecretKey(path);
  } catch (error) {
    return refuse(`the key ${path} cannot be used: ${messageOf(error)}`);
  }
}

/** One binary with its compressed forms and its signature; the lines of `SHA256SUMS` for them. */
async function release(triple: string): Promise<string[]> {
  const known = targets[triple];
  if (known === undefined)
    throw new Error(`no target is called ${triple}; there are ${Object.keys(targets).join(", ")}`);
  const name = binaryName(triple);
  const path = join(folder, name);
  const own = triple === ownTriple();
  await compile({
    outfile: path,
    version: values.version,
    triple,
    pack,
    ...(own ? {} : { runtime: { target: known.target, path: await fetchRuntime(known.runtime) } }),
  });
  const bytes = await Bun.file(path).bytes();
  const level = { params: { [constants.ZSTD_c_compressionLevel]: Number(values.level) } };
  await Bun.write(`${path}.zst`, await promisify(zstdCompress)(bytes, level));
  await Bun.write(`${path}.gz`, await promisify(gzip)(bytes, { level: Math.min(9, Number(values.level)) }));
  if (key !== undefined) await Bun.write(`${path}.minisig`, await signFile(path, name, tag, key));
  console.log(
    `${name}: ${Math.round(bytes.length / 1e6)} MB, ${Math.round(Bun.file(`${path}.zst`).size / 1e6)} MB packed`,
  );
  return Promise.all(
    [name, `${name}.gz`, `${name}.zst`].map(async (file) => `${await sha256(join(folder, file))}  ${file}`),
  );
}

/** Another system's runtime, from the registry that npm is set to, in the version that builds it. */
async function fetchRuntime(name: string): Promise<string> {
  const own = join(runtimes, name);
  await mkdir(own, { recursive: true });
  run(["npm", "pack", "--silent", `@oven/bun-${name}@${Bun.version}`], own);
  const [archive] = (await readdir(own)).filter((file) => file.endsWith(".tgz"));
  if (archive === undefined) throw new Error(`npm has no @oven/bun-${name}@${Bun.version}`);
  run(["tar", "-xzf", archive], own);
  return join(own, "package", "bin", name.startsWith("windows") ? "bun.exe" : "bun");
}

function run(command: string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed: ${stderr.toString()}`);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}
