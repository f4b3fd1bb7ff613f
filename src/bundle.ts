import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** ConsoleFile is one file of the web console, as it is stored and sent. */
export interface ConsoleFile {
  /** The name contains a hash of the content, so that browsers can cache it for ever. */
  readonly name: string;
  readonly br: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
}

/** ConsoleFiles is the web console, ready to be served. */
export interface ConsoleFiles {
  readonly script: string;
  /** What the script imports at once, so that browsers can fetch it together with the script. */
  readonly modules: readonly string[];
  readonly style: string;
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

const sources = join(import.meta.dir, "console");
export const packName = "console.pack";
const hashed = "[name]-[hash].[ext]";
/**
 * Qualities of brotli. The highest one takes 2.7 s of processor time for the console, and only a release is worth that: the files of
 * the fast one are 9 % larger.
 */
const releaseQuality = 11;
const fastQuality = 5;

/** `loadConsole` returns the files in a compiled binary; a server that runs from source bundles them. */
export async function loadConsole(): Promise<ConsoleFiles> {
  if (!Bun.isStandaloneExecutable) return bundleConsole(sources, fastQuality);
  const embedded = Bun.embeddedFiles.find((file) => "name" in file && file.name === packName);
  if (embedded === undefined) throw new Error(`this binary was compiled without ${packName}`);
  return unpackConsole(await embedded.bytes());
}

/** `packFastConsole` bundles the console for a binary that is not a release. */
export async function packFastConsole(): Promise<Uint8Array<ArrayBuffer>> {
  return packConsole(await bundleConsole(sources, fastQuality));
}

/** `bundleConsole` bundles the console from its sources, and compresses it as a release does unless it is told otherwise. */
export async function bundleConsole(folder = sources, quality = releaseQuality): Promise<ConsoleFiles> {
  const { outputs } = await Bun.build({
    entrypoints: [join(folder, "main.tsx"), join(folder, "style.css")],
    root: folder,
    target: "browser",
    minify: true,
    splitting: true,
    // The documentation, as it is in the repository.
    loader: { ".md": "text" },
    plugins: [await sheetsInScripts(folder)],
    naming: { entry: hashed, chunk: hashed, asset: hashed },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const nameOf = (what: string, is: (output: Bun.BuildArtifact) => boolean) => {
    const found = outputs.find(is);
    if (found === undefined) throw new Error(`the bundle of the console has no ${what}`);
    return basename(found.path);
  };
  const files = await Promise.all(
    outputs.map(async (output) =>
      toFile(basename(output.path), new Uint8Array(await output.arrayBuffer()), quality),
    ),
  );
  const script = nameOf("script", ({ kind, path }) => kind === "entry-point" && path.endsWith(".js"));
  return {
    script,
    modules: await importedModules(script, outputs),
    style: nameOf("style sheet", ({ path }) => /^style-.*\.css$/.test(basename(path))),
    files: new Map(files.map((file) => [file.name, file])),
  };
}

/** A style sheet that a script imports is part of that script, so that a page brings its styles when it is first shown. */
async function sheetsInScripts(folder: string): Promise<Bun.BunPlugin> {
  const sheets = [...new Bun.Glob("{pages,styles}/**/*.css").scanSync(folder)].map((path) =>
    join(folder, path),
  );
  // A plugin that waits for another build never ends.
  const minified = new Map(
    await Promise.all(sheets.map(async (path) => [path, await minify(path)] as const)),
  );
  return {
    name: "style sheets in scripts",
    setup(build) {
      build.onResolve({ filter: /\.css$/ }, ({ path, importer, kind }) =>
        kind === "import-statement" ? { path: join(dirname(importer), path), namespace: "sheet" } : undefined,
      );
      build.onLoad({ filter: /./, namespace: "sheet" }, ({ path }) => ({
        loader: "js",
        contents: `const sheet = new CSSStyleSheet(); sheet.replaceSync(${JSON.stringify(minified.get(path))}); document.adoptedStyleSheets.push(sheet);`,
      }));
    },
  };
}

async function minify(sheet: string): Promise<string | undefined> {
  const { outputs } = await Bun.build({ entrypoints: [sheet], minify: true });
  return outputs[0]?.text();
}

const javascript = new Bun.Transpiler({ loader: "js" });

/** Modules that a script imports, and those that they import in turn, without the ones that are fetched when they are needed. */
async function importedModules(script: string, outputs: readonly Bun.BuildArtifact[]): Promise<string[]> {
  const found = new Set([script]);
  for (const name of found) {
    const code = await outputs.find(({ path }) => basename(path) === name)?.text();
    for (const { kind, path } of code === undefined ? [] : javascript.scanImports(code))
      if (kind === "import-statement") found.add(basename(path));
  }
  return [...found].slice(1);
}

async function toFile(name: string, bytes: Uint8Array, quality: number): Promise<ConsoleFile> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(bytes, { params }),
    promisify(gzip)(bytes, { level: 9 }),
  ]);
  return { name, br: Uint8Array.from(br), gzip: Uint8Array.from(zipped) };
}

interface PackHead extends Omit<ConsoleFiles, "files"> {
  readonly files: ReadonlyArray<{ readonly name: string; readonly br: number; readonly gzip: number }>;
}

/**
 * `packConsole` writes all files into one: the length of the head, the head as JSON, then the contents with the lengths in the
 * head.
 */
export function packConsole({ files, ...rest }: ConsoleFiles): Uint8Array<ArrayBuffer> {
  const all = [...files.values()];
  const head: PackHead = {
    ...rest,
    files: all.map(({ name, br, gzip }) => ({ name, br: br.length, gzip: gzip.length })),
  };
  const text = new TextEncoder().encode(JSON.stringify(head));
  const length = new Uint8Array(Uint32Array.of(text.length).buffer);
  return Uint8Array.from(Buffer.concat([length, text, ...all.flatMap(({ br, gzip }) => [br, gzip])]));
}

/** `unpackConsole` reads what `packConsole` wrote. */
export function unpackConsole(pack: Uint8Array<ArrayBuffer>): ConsoleFiles {
  let at = 0;
  const take = (length: number) => {
    at += length;
    return pack.subarray(at - length, at);
  };
  const [length = 0] = new Uint32Array(take(4).slice().buffer);
  const { files, ...rest } = JSON.parse(new TextDecoder().decode(take(length))) as PackHead;
  const unpacked = files.map((file) => ({ name: file.name, br: take(file.br), gzip: take(file.gzip) }));
  return { ...rest, files: new Map(unpacked.map((file) => [file.name, file])) };
}
