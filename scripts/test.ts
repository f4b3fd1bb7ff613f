import { resolve } from "node:path";

// Runs every test, or those that are named. Where a test needs a program that this machine lacks, it prints one line that begins
// with `SKIPPED:`; those lines are shown again at the end, and CI fails on them.

/** Folders that run in one process, longest first; a folder that is not named here runs with the rest. */
const groups = [
  ["process", "update", "scripts"],
  ["console"],
  ["webdav", "buckets"],
  ["node-server", "db", "config", "log"],
  ["hostile"],
  ["cli", "client"],
];
/** Folders that run beside the groups from the beginning: their stories wait for the server's own clocks, and use little processor time. */
const waiting = ["backup", "metrics", "health"];
/** Folders whose files are dealt to several processes, because one would run longer than all the others. */
const processesOf: Readonly<Record<string, number>> = { console: 2, process: 2 };

const files = (await Array.fromAsync(new Bun.Glob("test/*/*.test.ts").scan())).sort();
const folderOf = (path: string) => path.split("/")[1] ?? "";
const named = process.argv.slice(2);
const rest = [...new Set(files.map(folderOf))].filter(
  (folder) => ![...groups.flat(), ...waiting].includes(folder),
);
const queue = named.length > 0 ? [named] : [...groups, rest].flatMap(dealt);
/** How many groups run side by side. A machine with two cores carries three, because many stories wait more than they work. */
const maxAtOnce = 3;

/** At most this many lines of what a failed test printed are shown again at the end. */
const maxFailureLines = 30;

// Processes are those of the compiled server, as its users run it; in-process stories are of the source.
process.env.NODE_SERVER_BINARY ??= await builtBinary();
const lines: string[] = [];
const failures: string[] = [];
const codes: number[] = [];
const beside = named.length > 0 ? [] : dealt(waiting).map(run);
await Promise.all([...Array.from({ length: maxAtOnce }, runQueued), ...beside]);
codes.push(...(await Promise.all(beside)));
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
  await Promise.all([relay(child.stdout, process.stdout), relay(child.stderr, process.stderr)]);
  return child.exited;
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
