import { resolve } from "node:path";
import { closeRun, environmentOf, openRun } from "../test/support/test-run.ts";

// Runs every test, or those that are named. Where a test needs a program that this machine lacks, it prints one line that begins
// with `SKIPPED:`; those lines are shown again at the end, and CI fails on them.

/** Folders that run in one process, longest first; a folder that is not named here runs with the rest. */
const groups = [
  // Its storm takes a fixed time, in which others use the processor.
  ["cluster"],
  ["process", "update", "scripts"],
  ["console"],
  // Their stories wait for the server's own clocks, and use little processor time.
  ["backup", "metrics", "health"],
  ["webdav", "buckets"],
  ["node-server", "db", "config", "log"],
  ["hostile"],
  ["cli", "client"],
];
/**
 * Groups whose files are dealt to several processes, by the first folder of each. Short processes fill the machine to the end; a
 * long one would run alone at last.
 */
const processesOf: Readonly<Record<string, number>> = {
  cluster: 2,
  console: 2,
  process: 3,
  webdav: 4,
  "node-server": 2,
  cli: 2,
};

const files = (await Array.fromAsync(new Bun.Glob("test/*/*.test.ts").scan())).sort();
const folderOf = (path: string) => path.split("/")[1] ?? "";
const named = process.argv.slice(2);
const rest = [...new Set(files.map(folderOf))].filter((folder) => !groups.flat().includes(folder));
const queue = named.length > 0 ? [named] : [...groups, rest].flatMap(dealt);
/** How many groups run side by side. A machine with two cores carries four, because many stories wait more than they work. */
const maxAtOnce = 4;

/** At most this many lines of what a failed test printed are shown again at the end. */
const maxFailureLines = 30;

// Processes are those of the compiled server, as its users run it; in-process stories are of the source.
process.env.NODE_SERVER_BINARY ??= await builtBinary();
/** Where the processes of tests share what takes long to make or to start (`test/support/test-run.ts`). */
const shared = await openRun();
Object.assign(process.env, environmentOf(shared));
const lines: string[] = [];
const failures: string[] = [];
const codes: number[] = [];
/** What each process of tests took, a line each. */
const durations: string[] = [];
await Promise.all(Array.from({ length: maxAtOnce }, runQueued));
const serverSeconds = await closeRun(shared);
durations.push(`PostgreSQL and SeaweedFS: ${serverSeconds.toFixed(0)} s of processor time`);
for (const duration of durations) console.log(duration);
for (const line of new Set(lines.filter((line) => line.startsWith("SKIPPED:")))) console.log(line);
for (const failure of failures) console.log(failure);
const count = (word: string) =>
  lines.reduce((sum, line) => sum + Number(new RegExp(`^ *(\\d+) ${word}$`).exec(line)?.[1] ?? 0), 0);
console.log(`${count("pass")} passed, ${count("fail")} failed`);
process.exit(Math.max(...codes));

/** The files of a group, for each of its processes. */
function dealt(folders: readonly string[]): string[][] {
  const own = files.filter((path) => folders.includes(folderOf(path)));
  const count = processesOf[folders[0] ?? ""] ?? 1;
  return Array.from({ length: count }, (_, at) =>
    own.filter((_, index) => index % count === at).map((path) => `./${path}`),
  );
}

/** The folders of some files, with how many files there are. */
function titleOf(args: readonly string[]): string {
  const folders = new Set(args.map((path) => folderOf(path.replace("./", ""))));
  return `${args.length} files of ${[...folders].join(", ")}`;
}

async function builtBinary(): Promise<string> {
  const build = Bun.spawn(["node_modules/.bin/bun", "scripts/build.ts"], {
    stdout: "inherit",
    stderr: "inherit",
  });
  if ((await build.exited) !== 0) throw new Error("the binary was not built");
  return resolve("dist/node-server");
}

async function runQueued(): Promise<void> {
  for (let args = queue.shift(); args !== undefined; args = queue.shift()) codes.push(await run(args));
}

async function run(args: readonly string[]): Promise<number> {
  const child = Bun.spawn(["node_modules/.bin/bun", "test", "--timeout", "180000", ...args], {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1" },
  });
  const begin = performance.now();
  await Promise.all([relay(child.stdout, process.stdout), relay(child.stderr, process.stderr)]);
  const code = await child.exited;
  // With that of the programs that it has waited for; most of Chromium's is not in it.
  const processorSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  const seconds = (performance.now() - begin) / 1000;
  durations.push(
    `${titleOf(args)}: ${seconds.toFixed(0)} s, with ${processorSeconds.toFixed(0)} s of processor time`,
  );
  return code;
}

/**
 * Passes whole lines on, so that those of one group do not break into those of the other, and keeps what was printed before a
 * `(fail)` line: the end of a long log is all that some places show.
 */
async function relay(from: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<void> {
  let rest = "";
  let ofThisTest: string[] = [];
  const decoder = new TextDecoder();
  for await (const bytes of from) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      to.write(`${line}\n`);
      // Chromium complains of what a container lacks, at length.
      if (!line.startsWith("[pid=")) ofThisTest.push(line);
      if (line.startsWith("(fail)")) failures.push(ofThisTest.slice(-maxFailureLines).join("\n"));
      if (/^\((pass|fail|skip)\)/.test(line)) ofThisTest = [];
    }
    lines.push(...parts);
  }
  if (rest !== "") to.write(`${rest}\n`);
}
