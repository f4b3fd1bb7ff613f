import { readSync, writeSync } from "node:fs";
import { codeOf, Fault, messageOf } from "../../../base/fault.ts";
import { openLibc } from "../../../base/libc.ts";
import { lowerPriority } from "../../../base/low-priority.ts";
import { channelVariable, databaseVariable, parentVariable, socketDescriptor } from "./channel.ts";
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
  if (process.env[channelVariable] === "pipes") {
    const reader = answering(path, process.stdout.fd);
    for await (const { buffer, byteOffset, byteLength } of Bun.stdin.stream())
      reader.push(Buffer.from(buffer, byteOffset, byteLength));
    return;
  }
  // This process does nothing but wait for the next frame, so it blocks in the system call: an event loop costs twice as much.
  const reader = answering(path, socketDescriptor);
  const buffer = Buffer.allocUnsafe(readBytes);
  for (let bytes = -1; bytes !== 0; ) {
    bytes = readSync(socketDescriptor, buffer);
    reader.push(buffer.subarray(0, bytes));
  }
}

/** `answering` is a reader whose frames are answered at once on `descriptor`. */
function answering(path: string, descriptor: number): FrameReader {
  const executor = new SqliteExecutor(path);
  const tellKept = (kept: number) => writeAll(descriptor, encodeFrame(frameKinds.kept, String(kept)));
  const perform = (kind: number, text: string): string => {
    if (kind === frameKinds.execute) return executor.execute(JSON.parse(text) as SqliteRequest, tellKept);
    return kind === frameKinds.sizes ? JSON.stringify(sqliteTableSizes(path)) : "";
  };
  return new FrameReader((kind, text) => {
    let frame: Buffer;
    try {
      frame = encodeFrame(frameKinds.result, perform(kind, text));
    } catch (error) {
      frame = encodeFrame(frameKinds.fault, faultJson(error));
    }
    writeAll(descriptor, frame);
  });
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
