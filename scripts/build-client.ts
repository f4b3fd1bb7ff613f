import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "bun";
import { license, version } from "../package.json";

const root = resolve(import.meta.dir, "..");
const source = join(root, "src/client");

/** Writes the package `node-server-client` into `folder`; the bundle's text. */
export async function buildClient(folder: string): Promise<string> {
  const [code, types] = await Promise.all([bundle(), declarations()]);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Bun.write(join(folder, "index.js"), code);
  await Bun.write(join(folder, "index.d.ts"), types);
  await Bun.write(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await copyFile(join(source, "README.md"), join(folder, "README.md"));
  await copyFile(join(root, "LICENSE"), join(folder, "LICENSE"));
  return code;
}

const manifest = {
  name: "node-server-client",
  version,
  description: "Typed calls, subscriptions and files of a node-server, in browsers, Node and Bun.",
  type: "module",
  license,
  sideEffects: false,
  engines: { node: ">=20" },
  exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./package.json": "./package.json" },
  types: "./index.d.ts",
};

async function bundle(): Promise<string> {
  const made = await Bun.build({
    entrypoints: [join(source, "index.ts")],
    target: "browser",
    format: "esm",
    minify: false,
  });
  const [output] = made.outputs;
  if (!made.success || output === undefined) throw new AggregateError(made.logs, "the build failed");
  return output.text();
}

/** All types in one file: what the index exports, and what that mentions. */
async function declarations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "client-types-"));
  try {
    await emitTypes(folder);
    const all = new Map<string, string>();
    const files = [...new Bun.Glob("*.d.ts").scanSync(folder)].sort();
    for (const file of files.filter((name) => basename(name) !== "index.d.ts")) {
      for (const [name, text] of declarationsIn(await Bun.file(join(folder, file)).text())) {
        if (all.has(name)) throw new Error(`two files of src/client declare ${name}; rename one`);
        all.set(name, text);
      }
    }
    const { values, types } = exportsIn(await Bun.file(join(folder, "index.d.ts")).text());
    const used = mentionedBy([...values, ...types], all);
    const text = [...all].filter(([name]) => used.has(name)).map(([, declared]) => declared);
    return `${text.join("\n")}\nexport { ${values.join(", ")} };\nexport type { ${types.join(", ")} };\n`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function emitTypes(folder: string): Promise<void> {
  const flags =
    "--ignoreConfig --declaration --emitDeclarationOnly --stripInternal --strict --exactOptionalPropertyTypes --skipLibCheck --allowImportingTsExtensions --target ESNext --module preserve --moduleResolution bundler --lib ESNext --types bun";
  const args = [...flags.split(" "), "--rootDir", source, "--outDir", folder, join(source, "index.ts")];
  const run = Bun.spawn([join(root, "node_modules/.bin/tsc"), ...args], { cwd: root, stdout: "pipe" });
  const said = await run.stdout.text();
  if ((await run.exited) !== 0) throw new Error(`the types of src/client cannot be printed:\n${said}`);
}

/** Name → text with its comment, without `export`. The compiler begins each in the first column, and nothing else. */
function* declarationsIn(text: string): Generator<[name: string, text: string]> {
  const starts =
    /^(?:\/\*\*[\s\S]*?\*\/\n)?(?:export |declare )*(?:class|interface|type|const|function) (\w+)/gm;
  const found = [...text.matchAll(starts)];
  for (const [i, match] of found.entries()) {
    const [, name = ""] = match;
    const body = text
      .slice(match.index, found[i + 1]?.index)
      .replace(/^(import|export) .*from ".*";\n/gm, "");
    yield [name, body.replace(/^export (?:\{\};\n)?/gm, "").trimEnd()];
  }
}

function exportsIn(index: string): { values: string[]; types: string[] } {
  const [values, types]: [string[], string[]] = [[], []];
  for (const [, kind, names = ""] of index.matchAll(/^export (type )?\{([^}]*)\} from/gm)) {
    for (const name of names.split(",").map((word) => word.trim())) {
      if (kind !== undefined || name.startsWith("type ")) types.push(name.replace(/^type /, ""));
      else if (name !== "") values.push(name);
    }
  }
  return { values, types };
}

function mentionedBy(names: readonly string[], all: ReadonlyMap<string, string>): Set<string> {
  const used = new Set<string>();
  const visit = (name: string): void => {
    const text = all.get(name);
    if (text === undefined || used.has(name)) return;
    used.add(name);
    const code = text.replace(/\/\*\*[\s\S]*?\*\//g, "").replace(/"[^"]*"/g, "");
    for (const [word] of code.matchAll(/\w+/g)) visit(word);
  };
  for (const name of names) {
    if (!all.has(name)) throw new Error(`${name} is exported and nowhere declared`);
    visit(name);
  }
  return used;
}

if (import.meta.main) {
  const code = await buildClient(join(root, "dist/client"));
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
  console.log(
    `dist/client: node-server-client ${version}, index.js ${kilobytes(Buffer.byteLength(code))}, ${kilobytes(gzipSync(code).length)} with gzip`,
  );
}
