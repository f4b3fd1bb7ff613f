import { expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import { LogFile } from "../../src/log/log-file.ts";
import { blockOf, replaced, sectionOf } from "../support/documented.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { tempFolder, testNode } from "../support/node.ts";

function openFile(path: string) {
  const failures: unknown[] = [];
  return { file: new LogFile({ path, onFailed: (error) => failures.push(error) }), failures };
}

/** Adds lines of ten bytes, each flushed by itself. */
function addLines(file: LogFile, from: number, to: number): void {
  for (let line = from; line <= to; line++) {
    file.add(`${String(line).padStart(9, "0")}\n`);
    file.flush();
  }
}

const numbersIn = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n").map(Number);

test("a file that was moved away is left behind by the next line, by every writer of it", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const writers = [1, 2, 3].map(() => openFile(path));
  // In turn, as if each were a process of its own.
  for (let line = 1; line <= 30; line++) {
    addLines(writers[line % 3]?.file as LogFile, line, line);
    if (line % 10 === 0) renameSync(path, `${path}.${line}`);
  }
  const kept = [10, 20, 30].map((line) => numbersIn(`${path}.${line}`));
  expect(kept.flat()).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
  for (const [at, { file, failures }] of writers.entries()) {
    addLines(file, at, at);
    file.close();
    expect(failures).toEqual([]);
  }
  expect(numbersIn(path)).toEqual([0, 1, 2]);
  expect(statSync(path).mode & 0o777).toBe(0o640);
});

test("a file whose path is taken grows on, loses nothing, and is reported once", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const { file, failures } = openFile(path);
  addLines(file, 1, 1);
  renameSync(path, `${path}.1`);
  mkdirSync(path);
  addLines(file, 2, 5);
  expect(numbersIn(`${path}.1`)).toEqual([1, 2, 3, 4, 5]);
  expect(failures).toHaveLength(1);
  rmdirSync(path);
  addLines(file, 6, 6);
  expect(numbersIn(path)).toEqual([6]);
  file.close();
});

test("a pipe that is full, and then one that nobody reads any more, drops whole lines, and their number is told", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "pipe");
  await Bun.$`mkfifo ${path}`;
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const failures: unknown[] = [];
  const restored: number[] = [];
  const file = new LogFile({
    path,
    onFailed: (error) => failures.push(codeOf(error)),
    onRestored: (dropped) => restored.push(dropped),
  });
  const count = 50_000;
  for (let line = 1; line <= count; line++) file.add(`${String(line).padStart(9, "0")}\n`);
  file.flush();
  addLines(file, 0, 0);
  expect({ failures, restored }).toEqual({ failures: ["EAGAIN"], restored: [] });
  const buffer = Buffer.alloc(count * 10);
  let bytes = readSync(reader, buffer);
  addLines(file, 7, 7);
  bytes += readSync(reader, buffer, { offset: bytes });
  const lines = buffer.toString("latin1", 0, bytes).split("\n").slice(0, -1);
  expect(lines.every((line) => /^\d{9}$/.test(line))).toBe(true);
  expect(restored).toEqual([count + 1 - (lines.length - 1)]);
  closeSync(reader);
  addLines(file, 8, 9);
  expect(failures).toEqual(["EAGAIN", "EPIPE"]);
  file.close();
});

test("logrotate rotates both log files as documented, and no line is lost", async () => {
  const program = Bun.which("logrotate", { PATH: `${process.env.PATH}:/usr/sbin` });
  if (program === null) return console.log("SKIPPED: log rotation needs logrotate (apt install logrotate)");
  await using folder = await tempFolder();
  const file = (name: string) => join(folder.path, name);
  const logging = `json_log_filter = "info"\njson_log_file = ${JSON.stringify(file("node.log"))}\naccess_log = ${JSON.stringify(file("access.log"))}`;
  const clock = new ManualClock();
  await using node = await testNode({ logging, clock });
  const recipe = blockOf(sectionOf("monitor.md", "Log rotation"), "logrotate");
  writeFileSync(file("recipe"), replaced(recipe, [["/srv/node/logs", folder.path]]), { mode: 0o600 });
  const rotate = async () => {
    const { exitCode, stderr } = await Bun.$`${program} -f -s ${file("state")} ${file("recipe")}`
      .nothrow()
      .quiet();
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  };
  /** Leaves a line in both files, and returns once it is there. */
  const leave = async (name: string) => {
    node.node.hub.logger("server").info(name);
    await fetch(`${node.url}/${name}`);
    const isThere = (path: string) => existsSync(path) && readFileSync(path, "utf8").includes(name);
    await clock.until(`${name} is in both files`, 1000, async () =>
      ["node.log", "access.log"].every((log) => isThere(file(log))),
    );
  };
  await leave("first");
  await rotate();
  await leave("second");
  await rotate();
  await leave("third");
  for (const log of ["node.log", "access.log"]) {
    const zipped = Bun.gunzipSync(readFileSync(file(`${log}.2.gz`)));
    const texts = [
      Buffer.from(zipped).toString(),
      ...[`${log}.1`, log].map((name) => readFileSync(file(name), "utf8")),
    ];
    const found = texts.map((text) => ["first", "second", "third"].filter((name) => text.includes(name)));
    expect(found).toEqual([["first"], ["second"], ["third"]]);
  }
});
