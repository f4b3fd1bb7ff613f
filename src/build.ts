/** VersionRecord is the build record of `node-server_version`. Every member is a text that is not empty. */
export interface VersionRecord {
  readonly binary_type: string;
  readonly build_time: string;
  readonly cargo_target_triple: string;
  readonly cargo_version: string;
  readonly git_branch: string;
  readonly git_commit_date: string;
  readonly git_commit_message: string;
  readonly git_commit_sha: string;
  readonly rustc_channel: string;
  readonly rustc_commit_date: string;
  readonly rustc_commit_hash: string;
  readonly rustc_llvm_version: string;
  readonly rustc_version: string;
}

/** BUILD_RECORD is replaced by the record when the binary is compiled; see `scripts/compile.ts`. */
declare const BUILD_RECORD: VersionRecord | undefined;

/** `isCompiled` is true in the compiled binary, false when run from source. */
export const isCompiled = typeof BUILD_RECORD !== "undefined";

/** `selfCommand` returns the command that runs this program again, compiled or from source. */
export function selfCommand(...args: string[]): string[] {
  // On Linux this is the program that runs now, also after an update has replaced the file at its path.
  const own = process.platform === "linux" ? "/proc/self/exe" : process.execPath;
  return isCompiled ? [own, ...args] : [process.execPath, `${import.meta.dir}/main.ts`, ...args];
}

const fromSource: VersionRecord = {
  binary_type: "source",
  build_time: new Date(0).toISOString(),
  cargo_target_triple: "source",
  cargo_version: "0.0.0",
  git_branch: "unknown",
  git_commit_date: "unknown",
  git_commit_message: "unknown",
  git_commit_sha: "unknown",
  rustc_channel: "bun",
  rustc_commit_date: "unknown",
  rustc_commit_hash: Bun.revision,
  rustc_llvm_version: process.versions.webkit ?? "unknown",
  rustc_version: Bun.version,
};

export const build: VersionRecord = typeof BUILD_RECORD === "undefined" ? fromSource : BUILD_RECORD;

/** `sourceProgram` describes a server that runs from its source, which no update can replace. */
export const sourceProgram = {
  binary: undefined,
  version: build.cargo_version,
  triple: build.cargo_target_triple,
};
