import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { closeRun, environmentOf, memoryFolder, openRun } from "../test/support/test-run.ts";
import { parseTier } from "../test/support/tier.ts";
import {
  changedTests,
  longVariables,
  namedTests,
  needsBinary,
  phaseOf,
  reachedFrom,
  runsInFirefox,
  testsOf,
  timingsOf,
} from "../test/tiers.ts";
import { ProcessorTime } from "./processor-time.ts";

// Runs one tier of the tests, or what is named: folders, files, or --changed. CONTRIBUTING.md says what the tiers are. `--after-fast`
// leaves out the stories that the fast tier has just passed, on the same combinations and the same sources. A story that
// fails is run once more; one that passes then is flaky, which fails every tier but the fast one. A story that needs a program which
// this machine lacks prints one line that begins with `SKIPPED:`; those lines are shown again at the end, and CI fails on them.

/** A story that hangs fails after this time. Longer stories declare a time-out of their own, with its reason. */
const storyTimeoutMs = 20_000;
/** How many stories of one file that wait for processes run side by side. */
const maxConcurrentStories = 4;
const progressIntervalMs = 15_000;
/** What stories have started must have ended this long after the last of them. */
const maxEndMs = 10_000;
/** When more stories than this fail, something is broken, and running them once more says nothing. */
const maxRepeated = 20;
/** How much of what a failed story printed is shown again at the end. */
const maxMessageLines = 12;
/** The exit code of a run in which every story has passed, but some only the second time. */
const flakyCode = 3;
/** A story that is run once more has more time, so that one which was only slow does not count as broken. */
const repeatedTimeFactor = 3;

/** Modules of test/support that start a server for the whole run, with the statement that does it. */
const sharedServers = {
  /** It also prepares the database that others are copied from. */
  "postgres-pool": "await (await server.borrowPostgresDatabase()).drop()",
  seaweed: "if (server.hasSeaweed) await server.seaweed()",
};

interface RunOptions {
  /** Further flags of `bun test`. */
  readonly flags?: readonly string[];
  /** The browser for stories of the console; by default Chromium. */
  readonly browser?: "firefox" | undefined;
  /** Whether the files of stories are on the disk, although those of others may be in memory. */
  readonly isOnDisk?: boolean;
  /** How much more time stories and their waits have. */
  readonly timeFactor?: number;
}

interface Story extends Pick<RunOptions, "browser"> {
  readonly file: string;
  readonly title: string;
  readonly seconds: number;
  readonly hasFailed: boolean;
}

const { values: options, positionals: names } = parseArgs({
  options: {
    tier: { type: "string", default: "fast" },
    changed: { type: "boolean", default: false },
    "after-fast": { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const tier = parseTier(options.tier);
/** Where the fast tier writes which stories have passed, for `--after-fast`. */
const provenFile = resolve("test-artefacts/proven.tsv");
const everyFile = (await Array.fromAsync(new Bun.Glob("test/*/*.test.ts").scan())).sort();
const chosen = chooseFiles();
const sources = await digestOfSources();
const proven = options["after-fast"] ? await provenStories() : "";
const begin = performance.now();
const shared = await openRun(tier === "long" ? undefined : await memoryFolder());
using processorTime = new ProcessorTime();
/** The programs of this run that have not ended. */
const children = new Set<Bun.Subprocess>();
let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop(signal));
const [binary] = await Promise.all([
  chosen.some(needsBinary) ? builtBinary() : undefined,
  ...(["postgres-pool", "seaweed"] as const)
    .filter((module) => chosen.some((file) => reachedFrom(file).has(`test/support/${module}.ts`)))
    .map(startServer),
]);
const env = {
  ...process.env,
  ...(tier === "long" ? longVariables : {}),
  NO_COLOR: "1",
  TEST_TIER: tier,
  ...(await environmentOf(shared)),
  ...(binary !== undefined && { NODE_SERVER_BINARY: binary }),
};
const skipped = new Set<string>();
/** Files that ran no story: they could not be loaded, their process ended, or they declare none in this tier. */
const empty: string[] = [];
/** What the first run of a story that failed printed, by its file and title. */
const messages = new Map<string, string>();
let finished = 0;
/** The file whose name was printed last. */
let shownFile = "";
const progress = setInterval(() => console.log(`… ${finished} stories, ${elapsed()}`), progressIntervalMs);
const timings = join(shared, "timings.json");
await Bun.write(timings, timingsOf(chosen));
const lanes = [`--parallel=${availableParallelism()}`, "--no-isolate", `--timings=${timings}`];
const { ordinary = [], disk = [], waiting = [], storm = [], attack = [] } = Object.groupBy(chosen, phaseOf);
/** One more lane. */
const beside = async () => [
  ...(await run(disk, { isOnDisk: true })),
  ...(await run(waiting)),
  ...(tier === "fast" ? [] : await run(chosen.filter(runsInFirefox), { browser: "firefox" })),
];
const stories = [
  ...(await Promise.all([run(ordinary, { flags: lanes }), beside()])).flat(),
  ...(await run(storm, { flags: lanes })),
  ...(await run(attack)),
];
const failed = stories.filter(({ hasFailed }) => hasFailed);
const flaky = (await repeated(failed)).filter(({ hasFailed }) => !hasFailed);
clearInterval(progress);
const serviceSeconds = await closeRun(shared);
await writeTable();
if (tier === "fast" && chosen.length === testsOf(everyFile, tier).length) await writeProven();
// A browser ends a moment after the lane that it belongs to.
await allEnded();
process.exitCode = report();

function chooseFiles(): readonly string[] {
  if (options.changed) return changedTests(everyFile, gitChanges(), tier);
  if (names.length === 0) return testsOf(everyFile, tier);
  const { files, unknown } = namedTests(everyFile, names, tier);
  if (unknown.length === 0) return files;
  const folders = new Set(everyFile.map((file) => file.split("/")[1]));
  console.error(`no test is called ${unknown.join(" or ")}; the folders are ${[...folders].join(", ")}`);
  process.exit(2);
}

/** A digest of all that stories depend on. */
async function digestOfSources(): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const patterns = ["*.*", "src/**/*", "test/**/*", "scripts/**/*", "deploy/**/*", "docs/**/*"];
  const paths = patterns.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync()].sort());
  for (const path of paths) hash.update(`${path}\n`).update(await Bun.file(path).bytes());
  return hash.digest("hex");
}

/** The stories that the fast tier has proven on these sources. Without them this run ends: nobody would have proven what is left out. */
async function provenStories(): Promise<string> {
  const record = await readFile(provenFile, "utf8").catch(() => "");
  if (record.startsWith(`${sources}\n`)) return record;
  console.error(
    "--after-fast needs a run of `npm test` on the same sources; run it first, or leave the option out",
  );
  process.exit(2);
}

/** Writes which stories have passed at once. One that does more in `test:all` has another title there (`scaled`). */
async function writeProven(): Promise<void> {
  const name = ({ file, title }: Story) => `${file}\t${title}\n`;
  const broken = new Set(failed.map(name));
  const passed = stories.map(name).filter((story) => !broken.has(story));
  await Bun.write(provenFile, `${sources}\n${passed.join("")}`);
}

/** Paths that differ from the last commit, new files included. */
function gitChanges(): string[] {
  return ["diff --name-only HEAD", "ls-files --others --exclude-standard"].flatMap((command) => {
    const { stdout, success } = Bun.spawnSync(["git", ...command.split(" ")], { stderr: "inherit" });
    if (!success) throw new Error(`git ${command} failed`);
    return stdout.toString().split("\n").filter(Boolean);
  });
}

/** Processes of stories are those of the compiled server, as its users run it; in-process stories are of the source. */
async function builtBinary(): Promise<string> {
  if (process.env.NODE_SERVER_BINARY) return process.env.NODE_SERVER_BINARY;
  const build = Bun.spawn(processorTime.counted([process.execPath, "scripts/build.ts"]), {
    stdout: "inherit",
    stderr: "inherit",
  });
  if ((await codeOf(build)) !== 0) throw new Error("the binary was not built");
  return resolve("dist/node-server");
}

/**
 * Starts a server that stories share. If the first story that needs it did so, on a busy machine that story would run out of time, and
 * Bun, which ends what such a story has started, would take the server from all others.
 */
async function startServer(module: keyof typeof sharedServers): Promise<void> {
  const file = JSON.stringify(resolve(`test/support/${module}.ts`));
  const script = `const server = await import(${file}); ${sharedServers[module]}`;
  const child = Bun.spawn(processorTime.counted([process.execPath, "-e", script]), {
    stdout: "ignore",
    stderr: "inherit",
    env: { ...process.env, ...(await environmentOf(shared)) },
  });
  if ((await codeOf(child)) !== 0) throw new Error(`${module}: the server of the run was not started`);
}

/** codeOf is the exit code of a program of this run, which is counted. A run that is being stopped goes no further. */
async function codeOf(child: Bun.Subprocess): Promise<number> {
  children.add(child);
  const code = await child.exited;
  children.delete(child);
  processorTime.add(child.resourceUsage());
  return isStopping ? new Promise<never>(() => {}) : code;
}

/** Ends what this run has started, and then this process, by the signal that it got: a signal to the runner alone reaches nobody else. */
async function stop(signal: NodeJS.Signals): Promise<void> {
  isStopping = true;
  for (const child of children) child.kill(signal);
  await Promise.race([Promise.all(Array.from(children, ({ exited }) => exited)), Bun.sleep(maxEndMs)]);
  for (const child of children) child.kill("SIGKILL");
  await closeRun(shared);
  killLeft();
  await allEnded();
  processorTime[Symbol.dispose]();
  process.kill(process.pid, signal);
}

/** Waits, within bounds, until no process of this run is left. */
async function allEnded(): Promise<void> {
  for (let waitedMs = 0; waitedMs < maxEndMs && processorTime.running.length > 0; waitedMs += 50)
    await Bun.sleep(50);
}

/** Ends the processes that are still running, and returns them. */
function killLeft(): readonly number[] {
  const left = processorTime.running;
  if (left.length > 0) Bun.spawnSync(["kill", "-KILL", ...left.map(String)]);
  return left;
}

/** Runs files, prints what is not a passed story, and returns all stories. */
async function run(
  files: readonly string[],
  { flags = [], browser, isOnDisk = false, timeFactor = 1 }: RunOptions = {},
): Promise<readonly Story[]> {
  if (files.length === 0) return [];
  const outfile = join(shared, `${crypto.randomUUID()}.xml`);
  const child = Bun.spawn(
    processorTime.counted([
      process.execPath,
      "test",
      ...["--timeout", String(storyTimeoutMs * timeFactor)],
      ...["--max-concurrency", String(maxConcurrentStories)],
      ...["--reporter", "junit", "--reporter-outfile", outfile],
      ...flags,
      ...files.map((file) => `./${file}`),
    ]),
    {
      stdout: "pipe",
      stderr: "pipe",
      env: {
        ...env,
        ...(await environmentOf(shared, { isOnDisk })),
        TEST_TIME_FACTOR: String(timeFactor),
        // The fast tier runs no other browser than Chromium.
        ...(browser ? { TEST_BROWSER: browser } : proven && { TEST_PROVEN: provenFile }),
      },
    },
  );
  const [code] = await Promise.all([
    codeOf(child),
    relay(child.stdout, process.stdout),
    relay(child.stderr, process.stderr),
  ]);
  const report = Bun.file(outfile);
  const found = ((await report.exists()) ? storiesOf(await report.text()) : []).map((story) => ({
    ...story,
    browser,
  }));
  const ran = new Set(found.map(({ file }) => file));
  // A file may be empty whose stories are left out.
  empty.push(...files.filter((file) => !ran.has(file) && !proven.includes(`\n${file}\t`)));
  if (code !== 0 && !found.some(({ hasFailed }) => hasFailed) && empty.length === 0)
    throw new Error(`bun test ended with ${code}, but every story has passed`);
  return found;
}

/** Runs stories that have failed once more, a file at a time and alone. */
async function repeated(failed: readonly Story[]): Promise<readonly Story[]> {
  if (failed.length > maxRepeated) return [];
  const again: Story[] = [];
  for (const browser of [undefined, "firefox"] as const) {
    const own = failed.filter((story) => story.browser === browser);
    for (const [file, stories = []] of Object.entries(Object.groupBy(own, (story) => story.file))) {
      console.log(`once more: ${stories.length} of ${file}`);
      const pattern = stories.map(({ title }) => RegExp.escape(title)).join("|");
      const hook = stories.find(isHook);
      // A hook runs with all stories of its file.
      const flags = hook ? [] : ["--test-name-pattern", `(${pattern})$`];
      const isOnDisk = phaseOf(file) === "disk";
      const results = await run([file], { flags, browser, isOnDisk, timeFactor: repeatedTimeFactor });
      again.push(...results.filter(({ title }) => stories.some((story) => story.title === title)));
      // A hook that does not fail is not reported.
      if (hook && results.length > 0 && !results.some(isHook)) again.push({ ...hook, hasFailed: false });
    }
  }
  return again;
}

/** Whether a result is that of a hook, such as `beforeAll`, which Bun reports only when it has failed. */
function isHook({ title }: Story): boolean {
  return title === "(unnamed)";
}

/** The stories of a JUnit report. It is not read as XML: the messages of failures may hold characters that XML does not allow. */
function storiesOf(report: string): readonly Story[] {
  const cases = report.matchAll(/<testcase ([^>]*?)\/?>(\s*<(?:failure|error)|\s*<skipped)?/g);
  return Array.from(cases, ([, attributes = "", child = ""]) => {
    const value = (name: string) =>
      unescapeXml(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
    const wasSkipped = child.endsWith("<skipped");
    return {
      file: value("file"),
      title: value("name"),
      seconds: Number(value("time")),
      hasFailed: child !== "" && !wasSkipped,
      wasSkipped,
    };
  }).filter(({ wasSkipped }) => !wasSkipped);
}

function unescapeXml(text: string): string {
  const characters: Record<string, string> = { quot: '"', apos: "'", lt: "<", gt: ">", amp: "&" };
  return text.replace(/&(#x?[\da-f]+|\w+);/gi, (entity, name: string) => {
    if (!name.startsWith("#")) return characters[name] ?? entity;
    return String.fromCodePoint(
      name.startsWith("#x") ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1)),
    );
  });
}

/** Passes on what is not a passed story, in whole lines, below the name of its file. */
async function relay(from: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<void> {
  let rest = "";
  let file = "";
  /** What was printed since the last story ended. */
  let said: string[] = [];
  const show = (line: string) => {
    const [, ended, title = ""] = /^\((pass|fail)\) (.*?)(?: \[[\d.]+m?s\])?$/.exec(line) ?? [];
    if (ended !== undefined) finished += 1;
    const story = `${file.slice(0, -1)}: ${title}`;
    if (ended === "fail" && !messages.has(story)) messages.set(story, said.join("\n"));
    if (/^test\/.*\.test\.ts:$/.test(line)) file = line;
    if (ended !== undefined || line === file) said = [];
    if (line.startsWith("SKIPPED:")) skipped.add(line);
    if (isNoise(line)) return;
    said = [...said.slice(1 - maxMessageLines), line];
    if (file !== shownFile) to.write(`\n${file}\n`);
    shownFile = file;
    to.write(`${line}\n`);
  };
  const decoder = new TextDecoder();
  for await (const bytes of from) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) show(line);
  }
  if (rest !== "") show(rest);
}

/** Lines that say nothing new: passed stories, names of files, counts, and what Chromium misses in a container. */
function isNoise(line: string): boolean {
  return (
    line.trim() === "" ||
    /^\((pass|skip)\)|^test\/.*\.test\.ts:$|^SKIPPED:|^\[pid=|^bun test v/.test(line) ||
    /^ *\d+ (pass|fail|skip|error|expect\(\) calls|filtered out)|^Ran \d+ tests? across/.test(line)
  );
}

/** Prints what the run came to, and returns its exit code. */
function report(): number {
  const isFlaky = ({ file, title, browser }: Story) =>
    flaky.some((story) => story.file === file && story.title === title && story.browser === browser);
  const broken = failed.filter((story) => !isFlaky(story));
  const passed = stories.length - failed.length + flaky.length;
  console.log("\nSeconds by folder:");
  const folders = Object.entries(Object.groupBy(stories, ({ file }) => file.split("/")[1] ?? ""));
  for (const [folder, own = []] of folders.sort(([, a = []], [, b = []]) => sumOf(b) - sumOf(a)))
    console.log(`${sumOf(own).toFixed(1).padStart(7)}  ${folder} (${own.length} stories)`);
  console.log("\nSlowest stories:");
  for (const { seconds, file, title } of stories.toSorted((a, b) => b.seconds - a.seconds).slice(0, 8))
    console.log(`${seconds.toFixed(1).padStart(7)}  ${file}: ${title}`);
  for (const line of skipped) console.log(line);
  for (const file of empty) console.log(`EMPTY: ${file} ran no story`);
  const nameOf = ({ file, title, browser }: Story) => `${file}: ${title}${browser ? ` in ${browser}` : ""}`;
  for (const story of broken) console.log(`FAILED: ${nameOf(story)}\n${messageOf(story)}`);
  for (const story of flaky)
    console.log(`FLAKY: ${nameOf(story)} (failed, then passed)\n${messageOf(story)}`);
  const left = killLeft();
  if (left.length > 0) console.log(`LEFT: processes ${left.join(", ")} are still running`);
  const seconds = processorTime.seconds + (processorTime.isExact ? 0 : serviceSeconds);
  const processor = `${seconds.toFixed(0)} s of processor time`;
  console.log(`\n${elapsed()}, ${processorTime.isExact ? processor : `at least ${processor}`}`);
  console.log(`${passed} passed, ${broken.length} failed`);
  if (broken.length > 0 || empty.length > 0 || left.length > 0) return 1;
  return flaky.length > 0 && tier !== "fast" ? flakyCode : 0;
}

/** What a story printed when it failed, set off from the list of stories. */
function messageOf({ file, title }: Story): string {
  return (messages.get(`${file}: ${title}`) ?? "").replaceAll(/^/gm, "    ");
}

/** Writes the seconds of every story, the slowest first, for those who look for what to make faster. */
async function writeTable(): Promise<void> {
  const rows = stories.toSorted((a, b) => b.seconds - a.seconds);
  const lines = rows.map(({ seconds, file, title }) => `${seconds.toFixed(2)}\t${file}\t${title}\n`);
  await Bun.write("test-artefacts/stories.tsv", lines.join(""));
}

function sumOf(stories: readonly Story[]): number {
  return stories.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** The time since the run began, as in `4:05`. */
function elapsed(): string {
  const seconds = Math.round((performance.now() - begin) / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} minutes`;
}
