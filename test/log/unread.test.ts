import { expect, test } from "bun:test";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { LogEntry } from "../../src/log/entry.ts";
import { parseFilter } from "../../src/log/filter.ts";
import { JsonFileSink } from "../../src/log/sinks.ts";
import { tempFolder } from "../support/node.ts";
import { until } from "../support/until.ts";

const source = new URL("../../src/log/", import.meta.url).pathname;
const sent = 100_000;

function entry(n: number): LogEntry {
  return {
    timestamp: "t",
    level: "WARN",
    target: "token",
    message: "refused credentials",
    fields: { n },
    spans: [],
  };
}

const flood = `
  import { LogHub } from ${JSON.stringify(`${source}hub.ts`)};
  import { LogRing } from ${JSON.stringify(`${source}ring.ts`)};
  import { LogSinks } from ${JSON.stringify(`${source}sinks.ts`)};
  import { parseFilter } from ${JSON.stringify(`${source}filter.ts`)};
  const hub = new LogHub();
  const filter = parseFilter("info");
  const sinks = new LogSinks(hub, new LogRing(0, filter));
  const apply = () => sinks.prepare({ terminal: { filter, format: "text" }, file: undefined, memory: { capacity: 0, filter } }).commit();
  apply();
  for (let n = 0; n < ${sent}; n++) {
    hub.logger("token").warn("refused credentials", { n, words: "x".repeat(100) });
    // A reload replaces the sink, and loses neither what waits nor the count.
    if (n % 10_000 === 0) apply();
    if (n % 1000 === 0) await new Promise(setImmediate);
  }
  console.log("sent");
  for await (const _ of process.stdin) hub.logger("token").warn("after");
  sinks.close();
`;

test("a standard error that nobody reads keeps a bounded part of the log, and counts the rest", async () => {
  await using folder = await tempFolder();
  // A pipe of the system's own: one that Bun makes is read as soon as it is filled.
  const path = await newFifo(folder.path);
  await using reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = await open(path, "w");
  const child = Bun.spawn([process.execPath, "-e", flood], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: writer.fd,
  });
  await writer.close();
  const told = await child.stdout.getReader().read();
  expect(Buffer.from(told.value ?? []).toString()).toBe("sent\n");
  let text = "";
  const read = async (what: RegExp) =>
    until(`standard error holds ${what}`, async () => {
      text += await drain(reader);
      return what.test(text);
    });
  await read(/were dropped/);
  child.stdin.write("go on\n");
  await child.stdin.end();
  await read(/token: after/);
  expect(await child.exited).toBe(0);

  const lines = text.trimEnd().split("\n");
  const numbers = lines.flatMap((line) => / n=(\d+)/.exec(line)?.[1] ?? []).map(Number);
  expect(numbers).toEqual(numbers.map((_, at) => at));
  expect(text.length).toBeLessThan(2 * 1024 * 1024);
  const dropped = [...text.matchAll(/WARN server: (\d+) log entries were dropped: .* dropped=\1$/gm)];
  expect(dropped.reduce((sum, [, count]) => sum + Number(count), numbers.length)).toBe(sent);
  expect(lines.at(-1)).toContain("after");
});

test("a log file that takes no more keeps its lines whole, and counts what it missed", async () => {
  await using folder = await tempFolder();
  const path = await newFifo(folder.path);
  // Nobody has it open for reading: this is an error, not a wait.
  expect(() => new JsonFileSink(path, parseFilter("info"))).toThrow(/cannot be opened: ENXIO/);

  await using reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const sink = new JsonFileSink(path, parseFilter("info"));
  let text = "";
  for (let n = 0; n < 6000; n++) {
    sink.write(entry(n));
    if (n % 100 === 0) sink.flush();
    // It is emptied now and then, so that a line is cut at many places.
    if (n % 1700 === 0) text += await drain(reader);
  }
  text += await drain(reader);
  sink.write(entry(6000));
  sink.close();
  text += await drain(reader);

  const entries = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LogEntry);
  const kept = entries.filter(({ target }) => target === "token");
  const notices = entries.filter(({ target }) => target === "server");
  expect(notices.length).toBeGreaterThan(0);
  expect(notices.reduce((sum, { fields }) => sum + Number(fields.dropped), kept.length)).toBe(6001);
  expect(entries.at(-1)?.fields).toEqual({ n: 6000 });
});

async function newFifo(folder: string): Promise<string> {
  const path = join(folder, "log.fifo");
  expect(await Bun.spawn(["mkfifo", path]).exited).toBe(0);
  return path;
}

/** Everything that is in the pipe now. */
async function drain(reader: FileHandle): Promise<string> {
  const buffer = Buffer.alloc(1024 * 1024);
  let text = "";
  for (;;) {
    const { bytesRead } = await reader.read(buffer, 0, buffer.length, null).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return { bytesRead: 0 };
      throw error;
    });
    if (bytesRead === 0) return text;
    text += buffer.toString("utf8", 0, bytesRead);
  }
}
