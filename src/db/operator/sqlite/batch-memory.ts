import { ptr } from "bun:ffi";
import { closeSync, ftruncateSync } from "node:fs";
import { openLibc } from "../../../base/local-fs/local-calls.ts";

/** The numbers at the begin of the memory: requests begun, bytes of answers, and microseconds that a request took on average. */
const [begunAt, answeredAt, averageAt, numberCount] = [0, 1, 2, 3];
const headerBytes = numberCount * Int32Array.BYTES_PER_ELEMENT;
const memoryBytes = 64 * 1024;
const maxInt32 = 0x7fffffff;
/** As the number of requests begun: the server has taken back the others. */
const takenBack = maxInt32;
const closeOnExec = 1;

/**
 * BatchMemory is shared by the server and a child that runs a batch of requests, one after the other. It holds answers, so that the
 * child wakes the server once for all of them, and the server finds them even if the next request takes long. And it tells which
 * requests have begun, so that the server can take back the others. The first request of a batch has always begun.
 */
export interface BatchMemory {
  readonly numbers: Int32Array;
  readonly answers: Buffer;
}

/** `createBatchMemory` returns new memory and a descriptor by which a child can open it; undefined where the system has no such thing. */
export function createBatchMemory():
  | { readonly memory: BatchMemory; readonly descriptor: number }
  | undefined {
  if (process.platform !== "linux") return undefined;
  const libc = openLibc({ memfd_create: { args: ["ptr", "u32"], returns: "i32" } });
  const descriptor = libc?.memfd_create(ptr(Buffer.from("node-server\0")), closeOnExec) ?? -1;
  if (descriptor < 0) return undefined;
  try {
    ftruncateSync(descriptor, memoryBytes);
    return { memory: openBatchMemory(descriptor), descriptor };
  } catch {
    closeSync(descriptor);
    return undefined;
  }
}

/** `openBatchMemory` maps the memory; it is unmapped when nothing refers to it any more. */
export function openBatchMemory(descriptor: number): BatchMemory {
  const { buffer } = Bun.mmap(`/proc/self/fd/${descriptor}`, { shared: true });
  return { numbers: new Int32Array(buffer, 0, numberCount), answers: Buffer.from(buffer, headerBytes) };
}

/** ServerBatch is what the server does with the memory. */
export class ServerBatch {
  readonly #memory: BatchMemory;
  #readBytes = 0;

  constructor(memory: BatchMemory) {
    this.#memory = memory;
  }

  /** To be called before a batch is sent, while the child is idle. */
  reset(): void {
    const { numbers } = this.#memory;
    this.#readBytes = 0;
    Atomics.store(numbers, answeredAt, 0);
    Atomics.store(numbers, begunAt, 1);
  }

  /**
   * Returns how many requests of the batch have begun, and keeps the child from beginning others. A second call returns more than any
   * batch has: nothing is left to be taken back.
   */
  takeBack(): number {
    return Atomics.exchange(this.#memory.numbers, begunAt, takenBack);
  }

  /** Returns the frames of answers that the child has added since the last call. The next batch overwrites them. */
  newAnswers(): Buffer {
    const from = this.#readBytes;
    this.#readBytes = Atomics.load(this.#memory.numbers, answeredAt);
    return this.#memory.answers.subarray(from, this.#readBytes);
  }

  /** The processor time that a request of the last batch took on average. */
  get averageUs(): number {
    return Atomics.load(this.#memory.numbers, averageAt);
  }
}

/** ChildBatch is what the child does with the memory. */
export class ChildBatch {
  readonly #memory: BatchMemory;
  #writtenBytes = 0;

  constructor(memory: BatchMemory) {
    this.#memory = memory;
  }

  /** To be called when the first request of a batch has arrived. */
  reset(): void {
    this.#writtenBytes = 0;
  }

  /** Returns whether the request at `index`, from 1, may begin; false if the server has taken it back. */
  mayBegin(index: number): boolean {
    return Atomics.compareExchange(this.#memory.numbers, begunAt, index, index + 1) === index;
  }

  /** Adds the frame of an answer; returns false if there is no space left for it. */
  addAnswer(frame: Buffer): boolean {
    const { numbers, answers } = this.#memory;
    if (this.#writtenBytes + frame.length > answers.length) return false;
    answers.set(frame, this.#writtenBytes);
    this.#writtenBytes += frame.length;
    Atomics.store(numbers, answeredAt, this.#writtenBytes);
    return true;
  }

  /** Reports the processor time that a request of the batch took on average. */
  setAverage(us: number): void {
    Atomics.store(this.#memory.numbers, averageAt, Math.min(Math.round(us), maxInt32));
  }
}
