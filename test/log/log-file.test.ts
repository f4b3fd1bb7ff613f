import { expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../src/base/fault.ts";
import { tryLock } from "../../src/base/local-fs/file-lock.ts";
import { LogFile, type Rotation } from "../../src/log/log-file.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { until } from "../support/until.ts";

function openFile(path: string, rotation: Rotation) {
  const failures: unknown[] = [];
  return { file: new LogFile({ path, ...rotation, onFailed: (error) => failures.push(error) }), failures };
}

/** Adds lines of ten bytes, each flushed by itself. */
function addLines(file: LogFile, from: number, to: number): void {
  for (let line = from; line <= to; line++) {
    file.add(`${String(line).padStart(9, "0")}\n`);
    file.flush();
  }
}

const numbersIn = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n").map(Number);

test("a file that would grow beyond its size is put aside, and the oldest is removed", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const { file, failures } = openFile(path, { maxBytes: 30, keep: 2 });
  addLines(file, 1, 10);
  expect(numbersIn(path)).toEqual([10]);
  expect(numbersIn(`${path}.1`)).toEqual([7, 8, 9]);
  expect(numbersIn(`${path}.2`)).toEqual([4, 5, 6]);
  expect(readdirSync(folder.path).sort()).toEqual(["node.log", "node.log.1", "node.log.2"]);
  expect(statSync(path).mode & 0o777).toBe(0o640);
  file.close();
  const again = openFile(path, { maxBytes: 30, keep: 2 });
  addLines(again.file, 11, 13);
  expect(numbersIn(`${path}.1`)).toEqual([10, 11, 12]);
  again.file.close();
  expect(failures).toEqual([]);
});

test("with no old files to keep, a full file is begun anew; without a size it grows", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const { file } = openFile(path, { maxBytes: 30, keep: 0 });
  addLines(file, 1, 4);
  expect(numbersIn(path)).toEqual([4]);
  file.close();
  const endless = openFile(path, { maxBytes: 0, keep: 2 });
  addLines(endless.file, 5, 100);
  endless.file.close();
  expect(numbersIn(path)).toHaveLength(97);
  expect(existsSync(`${path}.1`)).toBe(false);
});

test("a flush of more lines than fit is divided at their ends; no file grows beyond its size", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const { file, failures } = openFile(path, { maxBytes: 35, keep: 9 });
  addLines(file, 1, 1);
  for (let line = 2; line <= 10; line++) file.add(`${String(line).padStart(9, "0")}\n`);
  file.flush();
  expect([3, 2, 1].map((at) => numbersIn(`${path}.${at}`))).toEqual([
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9],
  ]);
  expect(numbersIn(path)).toEqual([10]);
  file.close();
  expect(failures).toEqual([]);
});

test("what is pending at a close, and what the next one adds, keep to the size too", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const { file } = openFile(path, { maxBytes: 30, keep: 9 });
  for (let line = 1; line <= 5; line++) file.add(`${String(line).padStart(9, "0")}\n`);
  const next = openFile(path, { maxBytes: 30, keep: 9 }).file;
  file.close();
  next.followPath();
  addLines(next, 6, 7);
  next.close();
  expect([2, 1].map((at) => numbersIn(`${path}.${at}`))).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  expect(numbersIn(path)).toEqual([7]);
});

test("a line that is longer than the size goes whole into a file of its own", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const { file } = openFile(path, { maxBytes: 30, keep: 3 });
  const long = `${"1".repeat(50)}\n`;
  file.add("2\n");
  file.add(long);
  file.add("3\n");
  file.flush();
  expect([`${path}.2`, `${path}.1`, path].map((name) => readFileSync(name, "utf8"))).toEqual([
    "2\n",
    long,
    "3\n",
  ]);
  file.close();
});

test("a file that cannot be put aside grows on, loses nothing, and is reported once", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  // A folder with content cannot be replaced by a rename, by root neither.
  mkdirSync(join(`${path}.1`, "below"), { recursive: true });
  const { file, failures } = openFile(path, { maxBytes: 30, keep: 1 });
  addLines(file, 1, 5);
  expect(numbersIn(path)).toEqual([1, 2, 3, 4, 5]);
  expect(failures).toHaveLength(1);
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
    maxBytes: 10,
    keep: 1,
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

test("a server puts its log file aside by json_log_max_bytes, and a reload changes that", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const logging = `json_log_file = ${JSON.stringify(path)}\njson_log_filter = "info"\njson_log_max_bytes = 2000\njson_log_keep = 3`;
  await using node = await testNode({ logging });
  const log = node.node.hub.logger("server");
  await until("three old files are there", () => {
    for (let line = 0; line < 20; line++) log.info(`line ${line}`);
    return existsSync(`${path}.3`);
  });
  expect(existsSync(`${path}.4`)).toBe(false);
  const old = readFileSync(`${path}.1`, "utf8");
  for (const line of old.trimEnd().split("\n")) JSON.parse(line);
  await Bun.write(node.configPath, (await Bun.file(node.configPath).text()).replace("= 2000", "= 0"));
  expect(await node.node.reload()).toBe("applied");
  for (let line = 0; line < 100; line++) log.info(`line ${line}`);
  await until("the file grows", () => statSync(path).size > 5000);
  expect(readFileSync(`${path}.1`, "utf8")).not.toContain("config.applied");
});

test("several writers of one file put it aside once, and all continue in the new one", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const files = [1, 2, 3].map(() => openFile(path, { maxBytes: 30, keep: 100, isShared: true }));
  // In turn, as if each were a process of its own.
  for (let line = 1; line <= 30; line++) addLines(files[line % 3]?.file as LogFile, line, line);
  const names = readdirSync(folder.path);
  expect(names).toHaveLength(10);
  const kept = Array.from({ length: 9 }, (_, at) => numbersIn(`${path}.${9 - at}`));
  expect([...kept.flat(), ...numbersIn(path)]).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
  for (const name of names) expect(statSync(join(folder.path, name)).size).toBe(30);
  for (const { file, failures } of files) {
    file.close();
    expect(failures).toEqual([]);
  }
});

test("a shared file that another writer is putting aside grows on meanwhile", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "node.log");
  const { file } = openFile(path, { maxBytes: 30, keep: 2, isShared: true });
  addLines(file, 1, 3);
  const other = openSync(path, constants.O_RDONLY);
  expect(tryLock(other)).toBe(true);
  addLines(file, 4, 4);
  expect(numbersIn(path)).toEqual([1, 2, 3, 4]);
  closeSync(other);
  addLines(file, 5, 5);
  expect(numbersIn(path)).toEqual([5]);
  expect(numbersIn(`${path}.1`)).toEqual([1, 2, 3, 4]);
  file.close();
});
