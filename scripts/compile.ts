import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { VersionRecord } from "../src/build.ts";
import { packName } from "../src/bundle.ts";

const root = resolve(import.meta.dir, "..");

export interface Compilation {
  readonly outfile: string;
  readonly version: string;
  /** As in `x86_64-unknown-linux-gnu`. */
  readonly triple: string;
  /** The runtime to build into it, when it is for another system than this one. */
  readonly runtime?: { readonly target: string; readonly path: string };
  /** The packed web console. */
  readonly pack: Uint8Array;
  /** Whether the program is compiled to bytecode: its start is shorter, the build costs five times as much. Default: true. */
  readonly bytecode?: boolean;
  /** Change modules on their way into the binary. */
  readonly plugins?: Bun.BunPlugin[];
}

/** Compiles the binary. The file is put in place whole, so that a running one is not disturbed. */
export async function compile({
  outfile,
  version,
  triple,
  runtime,
  pack,
  bytecode = true,
  plugins = [],
}: Compilation): Promise<void> {
  const ending = outfile.endsWith(".exe") ? ".exe" : "";
  const beside = `${outfile}.building${ending}`;
  const parts = resolve(`${outfile}.parts`);
  try {
    await mkdir(parts, { recursive: true });
    await writeFile(join(parts, packName), pack);
    const made = await Bun.build({
      entrypoints: [join(root, "src/main.ts"), join(parts, packName)],
      loader: { ".pack": "file" },
      naming: { asset: "[name].[ext]" },
      compile: {
        outfile: beside,
        autoloadDotenv: false,
        autoloadBunfig: false,
        ...(runtime === undefined
          ? {}
          : { target: runtime.target as Bun.Build.CompileTarget, executablePath: runtime.path }),
      },
      minify: true,
      // In pieces, so that a start reads only what it runs.
      splitting: true,
      format: "esm",
      bytecode,
      plugins,
      define: { BUILD_RECORD: JSON.stringify(buildRecord(version, triple)) },
    });
    if (!made.success) throw new AggregateError(made.logs, "the build failed");
    await rename(beside, outfile);
  } finally {
    await rm(beside, { force: true });
    await rm(parts, { recursive: true, force: true });
  }
}

/** The triple of this machine. */
export function ownTriple(): string {
  const arch = process.arch === "arm64" ? "aarch64" : "x86_64";
  const libc = process.platform === "linux" && isMusl() ? "musl" : "gnu";
  const systems: Record<string, string> = {
    linux: `unknown-linux-${libc}`,
    darwin: "apple-darwin",
    win32: "pc-windows-msvc",
  };
  return `${arch}-${systems[process.platform] ?? process.platform}`;
}

function isMusl(): boolean {
  const { stdout, stderr } = Bun.spawnSync(["ldd", "--version"]);
  return /musl/.test(stdout.toString() + stderr.toString());
}

function buildRecord(version: string, triple: string): VersionRecord {
  const epoch = Number(process.env.SOURCE_DATE_EPOCH);
  return {
    binary_type: "node-server",
    build_time: (epoch > 0 ? new Date(epoch * 1000) : new Date()).toISOString(),
    cargo_target_triple: triple,
    cargo_version: version,
    git_branch: git("rev-parse", "--abbrev-ref", "HEAD"),
    git_commit_date: git("log", "-1", "--format=%cI"),
    git_commit_message: git("log", "-1", "--format=%s"),
    git_commit_sha: git("rev-parse", "HEAD"),
    rustc_channel: "bun",
    rustc_commit_date: "unknown",
    rustc_commit_hash: Bun.revision,
    rustc_llvm_version: process.versions.webkit ?? "unknown",
    rustc_version: Bun.version,
  };
}

/** "unknown" where there is no repository, as in a source archive. */
function git(...args: string[]): string {
  try {
    const { success, stdout } = Bun.spawnSync(["git", ...args], { cwd: root, stderr: "ignore" });
    return (success && stdout.toString().trim()) || "unknown";
  } catch {
    return "unknown";
  }
}
