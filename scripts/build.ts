import { mkdir, rename, rm } from "node:fs/promises";
import { version } from "../package.json";
import type { VersionRecord } from "../src/build.ts";

/** Compiles `dist/node-server`. The file is put in place whole, so that a running one is not disturbed. */
const target = process.argv[2] ?? "dist/node-server";
await mkdir("dist", { recursive: true });
const beside = `${target}.building`;
try {
  const made = await Bun.build({
    entrypoints: ["src/main.ts"],
    compile: { outfile: beside, autoloadDotenv: false, autoloadBunfig: false },
    minify: true,
    bytecode: true,
    define: { BUILD_RECORD: JSON.stringify(buildRecord()) },
  });
  if (!made.success) throw new AggregateError(made.logs, "the build failed");
  await rename(beside, target);
  console.log(`${target}: ${Math.round(Bun.file(target).size / 1e6)} MB, version ${version}`);
} finally {
  await rm(beside, { force: true });
}

function buildRecord(): VersionRecord {
  const epoch = Number(process.env.SOURCE_DATE_EPOCH);
  return {
    binary_type: "node-server",
    build_time: (epoch > 0 ? new Date(epoch * 1000) : new Date()).toISOString(),
    cargo_target_triple: triple(),
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

function triple(): string {
  const arch = process.arch === "arm64" ? "aarch64" : "x86_64";
  const systems: Record<string, string> = {
    linux: "unknown-linux-gnu",
    darwin: "apple-darwin",
    win32: "pc-windows-msvc",
  };
  return `${arch}-${systems[process.platform] ?? process.platform}`;
}

/** "unknown" where there is no repository, as in a source archive. */
function git(...args: string[]): string {
  try {
    const { success, stdout } = Bun.spawnSync(["git", ...args], { stderr: "ignore" });
    return (success && stdout.toString().trim()) || "unknown";
  } catch {
    return "unknown";
  }
}
