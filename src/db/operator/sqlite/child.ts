import { readSync, writeSync } from "node:fs";
import { codeOf, Fault, messageOf } from "../../../base/fault.ts";
import { openLibc } from "../../../base/local-fs/local-calls.ts";
import { lowerPriority } from "../../../base/process.ts";
import { type BatchMemory, ChildBatch, openBatchMemory } from "./batch-memory.ts";
import {
  channelVariable,
  databaseVariable,
  memoryDescriptor,
  parentVariable,
  socketDescriptor,
} from "./channel.ts";
import { SqliteExecutor, type SqliteRequest, sqliteTableSizes } from "./execute.ts";
import { encodeFrame, FrameReader, frameKinds } from "./frames.ts";

/** The bytes that are read at once. */
const readBytes = 64 * 1024;

/** `runSqliteChild` is the main program of the child: it answers the frames of its server until the channel ends. */
export async function runSqliteChild(): Promise<void> {
  dieWithParent();
  // Not by more: statements have a time limit, on a busy machine too.
  lowerPriority(8);
  // The server may have ended before prctl was called; then this process has another parent by now.
  if (process.env[parentVariable] !== String(process.ppid)) return;
  const path = process.env[databaseVariable] ?? "";
  const channel = process.env[channelVariable];
  if (channel === "pipes") {
    const answerer = new Answerer(path, process.stdout.fd);
    for await (const { buffer, byteOffset, byteLength } of Bun.stdin.stream())
      answerer.read(Buffer.from(buffer, byteOffset, byteLength));
    return;
  }
  // This process does nothing but wait for the next frame, so it blocks in the system call: an event loop costs twice as much.
  const memory = channel === "memory" ? openBatchMemory(memoryDescriptor) : undefined;
  const answerer = new Answerer(path, socketDescriptor, memory);
  const buffer = Buffer.allocUnsafe(readBytes);
  for (let bytes = -1; bytes !== 0; ) {
    bytes = readSync(socketDescriptor, buffer);
    answerer.read(buffer.subarray(0, bytes));
  }
}

/** Answerer runs requests as they arrive, and answers them in the same order. */
class Answerer {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #batch: ChildBatch | undefined;
  readonly #executor: SqliteExecutor;
  readonly #frames = new FrameReader((kind, text) => this.#received(kind, text));
  /** The number of requests in the present batch, and of those that have arrived. */
  #size = 1;
  #arrived = 0;
  /** Whether a frame of this batch was sent: all later ones are sent too, because the server reads the memory before them. */
  #hasSent = false;
  /** The processor time of this process when the batch began. Other processes may run meanwhile, the server above all. */
  #usageAtBegin = process.cpuUsage();

  constructor(path: string, descriptor: number, memory?: BatchMemory) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#batch = memory && new ChildBatch(memory);
    this.#executor = new SqliteExecutor(path);
  }

  /** Reads the next bytes, which may be overwritten afterwards. */
  read(bytes: Buffer): void {
    this.#frames.push(bytes);
  }

  #received(kind: number, text: string): void {
    if (kind === frameKinds.batch) {
      this.#size = Number(text);
      return;
    }
    if (this.#arrived === 0) this.#beginBatch();
    const index = this.#arrived;
    this.#arrived += 1;
    const isLast = this.#arrived === this.#size;
    const answer = index === 0 || this.#batch?.mayBegin(index) ? this.#perform(kind, text) : undefined;
    if (isLast) this.#endBatch();
    if (answer !== undefined) this.#answer(answer, isLast);
    else if (isLast) this.#send(encodeFrame(frameKinds.skipped, ""));
  }

  #beginBatch(): void {
    this.#hasSent = false;
    if (this.#batch === undefined) return;
    this.#batch.reset();
    this.#usageAtBegin = process.cpuUsage();
  }

  /** To be called before the last answer of a batch is sent. */
  #endBatch(): void {
    if (this.#batch !== undefined) {
      const { user, system } = process.cpuUsage(this.#usageAtBegin);
      this.#batch.setAverage((user + system) / this.#size);
    }
    [this.#size, this.#arrived] = [1, 0];
  }

  #perform(kind: number, text: string): Buffer {
    try {
      return encodeFrame(frameKinds.result, this.#resultOf(kind, text));
    } catch (error) {
      return encodeFrame(frameKinds.fault, faultJson(error));
    }
  }

  #resultOf(kind: number, text: string): string {
    if (kind === frameKinds.execute)
      return this.#executor.execute(JSON.parse(text) as SqliteRequest, (kept) =>
        this.#send(encodeFrame(frameKinds.kept, String(kept))),
      );
    return kind === frameKinds.sizes ? JSON.stringify(sqliteTableSizes(this.#path)) : "";
  }

  #answer(frame: Buffer, isLast: boolean): void {
    const isAdded = !isLast && !this.#hasSent && this.#batch?.addAnswer(frame);
    if (!isAdded) this.#send(frame);
  }

  #send(frame: Buffer): void {
    this.#hasSent = true;
    writeAll(this.#descriptor, frame);
  }
}

function faultJson(error: unknown): string {
  const { kind, detail, data } =
    error instanceof Fault ? error : { kind: "DatabaseError" as const, detail: messageOf(error), data: {} };
  return JSON.stringify({ kind, detail, data });
}

/** `writeAll` writes synchronously: the next statement blocks everything else in this process. */
function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      // A pipe that does not block is full until the server reads.
      if (codeOf(error) !== "EAGAIN") throw error;
      Bun.sleepSync(1);
    }
  }
}

/**
 * `dieWithParent` lets the Linux kernel kill the child together with its server: a statement that is stuck cannot notice that
 * the channel ended.
 */
function dieWithParent(): void {
  if (process.platform !== "linux") return;
  const setParentDeathSignal = 1;
  const sigkill = 9n;
  const libc = openLibc({ prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" } });
  // Without prctl the child still ends when its statement does.
  libc?.prctl(setParentDeathSignal, sigkill, 0n, 0n, 0n);
}
