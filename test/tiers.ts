import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Tier } from "./support/tier.ts";

// The fast tier proves every decision once, at the cheapest interface that can prove it. `npm run test:all` adds what proves it again
// through a costlier interface, under load, by luck, or with the programs of others.

/** Folders whose stories cost much, with those of their files that the fast tier runs. */
const fastFiles: Readonly<Record<string, readonly string[]>> = {
  backup: ["bucket-members", "database-copy", "keys", "migrate-both", "refused", "restore", "stores", "tar"],
  certs: ["issue", "refusals", "schedule"],
  cluster: ["check-history", "nodes", "notifications", "roster"],
  console: [
    // Stories without a browser.
    ...[
      "audit-rows",
      "bucket-paths",
      "config-diff",
      "log-rows",
      "log-search",
      "markdown",
      "mount",
      "remember",
    ],
    ...[
      "request",
      "server-status",
      "serving",
      "site-zip",
      "sql-changes",
      "sql-export",
      "storage",
      "text-file",
      "texts",
    ],
    ...["token-limits", "upload-plan"],
    // Jobs, the security of a session, and the walk through all views.
    ...["complaints", "isolation", "jobs-files", "jobs-reach", "jobs-server", "jobs-session", "jobs-sharing"],
    ...["kept-sign-in", "sign-in", "sign-out", "walk"],
  ],
  hostile: [],
  process: [
    ...["check", "cli", "crash", "drain", "exposure", "failures", "health", "life", "listen-refused"],
    "lost-output",
    ...["overrides", "readme", "reload", "reload-hangs", "reload-listener", "reload-refused", "service"],
    ...["startup", "tls", "update"],
  ],
  scripts: ["balancers", "deploy", "documents", "release-usage", "runner"],
};

/** Files of other folders that the fast tier leaves out: storms, large amounts, foreign clients, and waits for the times of others. */
const slowFiles: Readonly<Record<string, readonly string[]>> = {
  buckets: ["blobs-load", "objects-lost-commit", "s3-faults", "sweep-storm", "third-blob-kind"],
  certs: ["killed", "nodes"],
  cli: [
    ...["cluster-page", "completion-shells", "monitor-page", "operate-page", "push-live", "push-lost"],
    ...["sites-page", "storage-page"],
  ],
  client: ["browser"],
  db: ["paused-postgres"],
  deploys: ["preview-browser", "storm"],
  health: ["sslyze"],
  metrics: ["prometheus"],
  "node-server": ["config-storm", "log-storm", "sql-process"],
  rpc: ["hostile"],
  s3: ["browser", "clients"],
  update: ["download-hostile"],
  uploads: ["attackers", "full-disk"],
  webdav: [
    "cadaver",
    "clients",
    "davfs2",
    "fights",
    "finder",
    "idle-connections",
    "litmus",
    "office-gvfs",
    "rclone",
  ],
};

/** Files that `npm run test:long` alone runs. */
const longFiles: readonly string[] = ["test/cluster/mutations.test.ts", "test/s3/million.test.ts"];

/**
 * Files that wait most of their time: for connections to idle, for restarts, for timers of other programs. They run beside the others,
 * one after another, and after them those of Firefox.
 */
const waitingFiles: readonly string[] = [
  "test/buckets/s3-faults.test.ts",
  "test/certs/killed.test.ts",
  "test/cluster/outage.test.ts",
  "test/db/paused-postgres.test.ts",
  ...[
    ...["processes-update", "rude-clients", "store-away", "store-care", "update-all", "update-failures"],
    ...["update-killed", "update-rollback", "update-running", "update-signatures"],
  ].map((name) => `test/process/${name}.test.ts`),
  "test/webdav/idle-connections.test.ts",
];

/** About how many seconds a file takes, if it is one of the longest. A lane begins with the longest of its files. */
const longSeconds: Readonly<Record<string, number>> = {
  "test/cli/cluster-page.test.ts": 40,
  "test/cluster/rolling.test.ts": 80,
  "test/cluster/storm.test.ts": 60,
  "test/console/outage.test.ts": 40,
  "test/console/overview.test.ts": 50,
  "test/console/preview.test.ts": 30,
  "test/console/walk-chinese.test.ts": 45,
  "test/console/walk.test.ts": 50,
  "test/process/kill-points.test.ts": 80,
  "test/process/multipart-killed.test.ts": 60,
  "test/s3/clients.test.ts": 90,
  "test/s3/million.test.ts": 130,
  "test/webdav/fights.test.ts": 35,
};
/** What every other file takes. */
const usualSeconds = 4;

/** Files that load the machine with a cluster, and judge what its clients see meanwhile. */
const stormFiles = /^test\/cluster\/(mutations|rolling|storm)\.test\.ts$/;

/** Files of the console that `test:all` runs in Firefox, too. */
const firefoxFiles = /^test\/console\/(jobs-.*|walk)\.test\.ts$/;

/** longVariables ask the storms, kills, races and sweeps of `npm run test:long` for more than `test:all` does. */
export const longVariables: Readonly<Record<string, string>> = {
  CLUSTER_STORM_SECONDS: "600",
  CLUSTER_ROUNDS: "1000",
  CLUSTER_ROLLS: "10",
  CLUSTER_MUTATIONS: "1",
  CRASH_KILLS: "500",
  TEST_ROUNDS: "10",
};

/** The folders of tests of a module, where they are not named like it. The longest path that fits counts. */
const foldersOf: Readonly<Record<string, readonly string[]>> = {
  "src/agents/": ["auth"],
  "src/buckets/": ["buckets", "deploys", "uploads", "webdav"],
  "src/cluster/": ["cluster"],
  "src/host/": ["process"],
  "src/http/": ["buckets", "rpc", "health"],
  "src/http/console/": ["console"],
  "src/http/health.ts": ["health"],
  "src/http/jsonrpc/": ["rpc"],
  "src/http/links/": ["links"],
  "src/http/s3/": ["s3"],
  "src/http/webdav/": ["webdav"],
  "src/methods/": ["methods", "node-server"],
  "src/monitor/": ["metrics", "health"],
  "bench/": ["bench"],
  "deploy/": ["scripts"],
  "docs/": ["scripts", "cli", "config", "webdav"],
  "src/": ["node-server"],
};

/**
 * When a file runs, and where: attacks judge times, so they run last and alone; storms load the machine with servers of their own; what is
 * about the disk runs there, although the files of others may be in memory.
 */
export type Phase = "ordinary" | "disk" | "waiting" | "storm" | "attack";

export function phaseOf(file: string): Phase {
  if (diskFiles.test(file)) return "disk";
  if (waitingFiles.includes(file)) return "waiting";
  if (isFast(file)) return "ordinary";
  if (folderOf(file) === "hostile") return "attack";
  return stormFiles.test(file) ? "storm" : "ordinary";
}

/** timingsOf tells Bun how long files take (`--timings`), which must be told of every file or of none. */
export function timingsOf(files: readonly string[]): string {
  const times = files.map((file) => [file, (longSeconds[file] ?? usualSeconds) * 1000]);
  return JSON.stringify({ version: 1, files: Object.fromEntries(times) });
}

export function runsInFirefox(file: string): boolean {
  return firefoxFiles.test(file);
}

/** The files of a tier. */
export function testsOf(files: readonly string[], tier: Tier): readonly string[] {
  if (tier === "long") return files;
  return files.filter((file) => !longFiles.includes(file) && (tier === "all" || isFast(file)));
}

function isFast(file: string): boolean {
  const folder = folderOf(file);
  const name = basename(file, ".test.ts");
  return fastFiles[folder]?.includes(name) ?? !slowFiles[folder]?.includes(name);
}

/** Names in the tables of tiers that fit no file. */
export function unknownNames(files: readonly string[]): readonly string[] {
  return [fastFiles, slowFiles]
    .flatMap((table) => Object.entries(table))
    .flatMap(([folder, names]) => names.map((name) => `test/${folder}/${name}.test.ts`))
    .concat(longFiles, waitingFiles, Object.keys(longSeconds))
    .filter((file) => !files.includes(file));
}

/**
 * The files below the folders and files that are named, with or without `test/`, and the names that fit none. Of a folder only those of
 * the tier count, or all if the tier has none of them.
 */
export function namedTests(
  files: readonly string[],
  names: readonly string[],
  tier: Tier,
): { readonly files: readonly string[]; readonly unknown: readonly string[] } {
  const named = names.map((name) => {
    const path = name.replace(/^(\.\/)?(test\/)?/, "test/").replace(/\/$/, "");
    const below = files.filter(
      (file) => file === path || file === `${path}.test.ts` || file.startsWith(`${path}/`),
    );
    const ofTier = testsOf(below, tier);
    return ofTier.length > 0 ? ofTier : below;
  });
  return { files: named.flat(), unknown: names.filter((_, at) => named[at]?.length === 0) };
}

/** The files of a tier that belong to changed paths: tests themselves, the users of test support, and the folder of a module. */
export function changedTests(
  files: readonly string[],
  changed: readonly string[],
  tier: Tier,
): readonly string[] {
  const wanted = new Set(changed.filter((path) => files.includes(path)));
  const supporting = changed.filter((path) => path.startsWith("test/") && !files.includes(path));
  for (const file of files) if (supporting.some((path) => reachedFrom(file).has(path))) wanted.add(file);
  const modules = new Set(changed.flatMap(foldersFor));
  for (const file of testsOf(files, tier)) if (modules.has(folderOf(file))) wanted.add(file);
  return [...wanted].sort();
}

/** Files about what a disk does. */
const diskFiles =
  /^test\/(base\/(access|file-calls|leftovers|local|replace)|buckets\/(disk|links|names|open-files|spellings|traversal|trash-disk)|db\/(full-disk|missing-file|sqlite)\.|deploys\/(exchange|other-disk)|s3\/records|uploads\/protocol|webdav\/copy-)/;

/** Whether a file starts the program, which must then be built. */
export function needsBinary(file: string): boolean {
  return reachedFrom(file).has("test/support/program.ts");
}

function foldersFor(path: string): readonly string[] {
  const known = Object.keys(foldersOf)
    .filter((prefix) => path.startsWith(prefix))
    .sort((a, b) => b.length - a.length)[0];
  const [top, module = ""] = path.split("/");
  const own = top === "src" && !module.includes(".") ? [module] : [];
  return known === undefined || (known === "src/" && own.length > 0) ? own : (foldersOf[known] ?? []);
}

function folderOf(file: string): string {
  return file.split("/")[1] ?? "";
}

const transpiler = new Bun.Transpiler({ loader: "ts" });
const importsOf = new Map<string, readonly string[]>();

/** The files below test/ that a file imports, directly or not, with itself. */
export function reachedFrom(file: string, reached = new Set<string>()): ReadonlySet<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
  for (const imported of directImports(file)) reachedFrom(imported, reached);
  return reached;
}

function directImports(file: string): readonly string[] {
  const known = importsOf.get(file);
  if (known !== undefined) return known;
  const found = transpiler
    .scanImports(readFileSync(file, "utf8"))
    .map(({ path }) => (path.startsWith(".") ? join(dirname(file), path) : ""))
    .filter((path) => path.startsWith("test/") && path.endsWith(".ts"));
  importsOf.set(file, found);
  return found;
}
