import { type Clock, systemClock } from "../../../base/clock.ts";
import { Fault, type FaultKind } from "../../../base/fault.ts";
import { abandonedFault, stoppedFault } from "../operator-sql.ts";
import { ServerBatch } from "./batch-memory.ts";
import {
  type Channel,
  type ChannelKind,
  databaseVariable,
  encodeFrames,
  type Frame,
  type FrameKind,
  FrameReader,
  frameKinds,
  openChannel,
  parentVariable,
} from "./channel.ts";

/** The time that a new child may take to start on a busy machine. */
const startMs = 30_000;
/** The time in which an idle child must answer a ping. */
const pingMs = 1000;
/** A child that answered within this time needs no ping before its next request. */
const freshMs = 100;

/**
 * After this time the requests of a batch that have not begun are taken back. Where the server and its children share a busy core, quick ones
 * may take some milliseconds too.
 */
const maxBatchMs = 5;

/** ChildRequest is a request to a child, and who gets its answer. */
export interface ChildRequest extends Frame {
  /** The time that the child may take; 0 means no limit. */
  readonly timeoutMs: number;
  /** Ends the child, and so the request. */
  readonly signal?: AbortSignal | undefined;
  succeeded(text: string): void;
  failed(error: unknown): void;
}

interface SqliteChildOptions {
  readonly channel: ChannelKind;
  /** The command that runs `runSqliteChild` in a new process. */
  readonly command: readonly string[];
  /** The database file. */
  readonly path: string;
  readonly clock: Clock;
  /** Called when the child has answered all its requests and can take others. */
  onIdle(child: SqliteChild): void;
  /** Called with requests of a batch that the child has not begun and never will. */
  onReturned(requests: ChildRequest[]): void;
  /** Called once, when the process has ended. */
  onExit(child: SqliteChild): void;
}

/**
 * SqliteChild is a process that runs an operator's statements: a batch of requests, one after the other. It has more than 15 methods
 * because each event of the process (a frame, its limit of time, its end) changes the same batch.
 */
export class SqliteChild {
  readonly #options: SqliteChildOptions;
  readonly #channel: Promise<Channel>;
  readonly #frames = new FrameReader((kind, text) => this.#received(kind, text));
  readonly #ended = Promise.withResolvers<void>();
  #send: Channel["send"] = () => {};
  #batch: ServerBatch | undefined;
  /** The requests of the present batch; without those that were taken back; and the number of those that are answered. */
  #sent: readonly ChildRequest[] = [];
  #requests: ChildRequest[] = [];
  #answered = 0;
  /** The number of statements of the running request that are committed. */
  #committed = 0;
  /** When the batch was sent, in the time of `performance.now()`. */
  #sentAt = 0;
  /** Set from time to time while batches run, instead of for each of them. */
  #lateTimer: Timer | undefined;
  /** Set for the running request. */
  #limitTimer: Disposable | undefined;
  #isTimedOut = false;
  readonly #abandon = () => this.#abandoned();
  #isEnding = false;
  #isSoonIdle = false;
  /** When it answered last, in the time of `clock.monotonic()`. */
  answeredAt = 0;

  constructor(options: SqliteChildOptions) {
    this.#options = options;
    const { channel, command, path } = options;
    const channelEnded = Promise.withResolvers<void>();
    this.#channel = openChannel({
      kind: channel,
      command,
      env: { TZ: process.env.TZ ?? "", [parentVariable]: String(process.pid), [databaseVariable]: path },
      data: (bytes) => {
        // Answers in the memory are older than these bytes.
        this.#readMemory();
        this.#frames.push(bytes);
      },
      end: channelEnded.resolve,
    });
    void this.#channel
      .then(({ process }) => Promise.all([process.exited, channelEnded.promise]))
      .catch(() => {})
      .then(() => this.#exited());
  }

  /** Resolves when the process answers, so that its start is not part of a statement's time. Throws if it does not. */
  async start(): Promise<void> {
    const { send, memory } = await this.#channel;
    this.#send = send;
    this.#batch = memory && new ServerBatch(memory);
    if (await this.#ping(startMs)) return;
    throw new Fault(
      "DatabaseError",
      `the process that runs statements ended, or did not start within ${startMs} ms; try again`,
    );
  }

  /** Whether it has just answered. One that has not may have been killed or suspended from outside. */
  get isFresh(): boolean {
    return this.#options.clock.monotonic() - this.answeredAt < freshMs;
  }

  /** Whether it runs a batch of quick requests, for less than `maxBatchMs` so far. */
  get isSoonIdle(): boolean {
    return this.#isSoonIdle;
  }

  /**
   * The processor time that a request of the last batch took on average; infinite if it is not known, and then it takes one request at a
   * time.
   */
  get averageUs(): number {
    return this.#batch?.averageUs ?? Number.POSITIVE_INFINITY;
  }

  /** Resolves to whether the idle child answers; one that does not is ended. */
  answersPing(): Promise<boolean> {
    return this.#ping(pingMs);
  }

  /**
   * Sends requests to the idle child: one, or several that are expected to be quick. After `maxBatchMs` those that have not begun
   * are returned, so that none waits for another that takes long.
   */
  run(requests: readonly ChildRequest[], { areQuick }: { readonly areQuick: boolean }): void {
    if (this.#isEnding) {
      for (const request of requests) request.failed(endedEarly());
      return;
    }
    this.#sent = requests;
    this.#requests = [...requests];
    this.#answered = 0;
    this.#committed = 0;
    this.#batch?.reset();
    this.#isSoonIdle = areQuick;
    if (areQuick) {
      this.#sentAt = performance.now();
      this.#lateTimer ??= setTimeout(() => this.#checkTime(), maxBatchMs);
    } else this.#limitTime();
    for (const { signal } of requests) signal?.addEventListener("abort", this.#abandon);
    const size: Frame = { kind: frameKinds.batch, text: String(requests.length) };
    this.#send(encodeFrames(requests.length > 1 ? [size, ...requests] : requests));
    if (requests.some(({ signal }) => signal?.aborted)) this.#abandoned();
  }

  /** Kills the process and waits until it is gone. */
  async end(): Promise<void> {
    this.#isEnding = true;
    (await this.#channel).process.kill("SIGKILL");
    await this.#ended.promise;
  }

  #ping(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const request = { kind: frameKinds.ping, text: "", timeoutMs };
      const ping = { ...request, succeeded: () => resolve(true), failed: () => resolve(false) };
      this.run([ping], { areQuick: false });
    });
  }

  get #running(): ChildRequest | undefined {
    return this.#requests[this.#answered];
  }

  /** Ends the child if the running request takes longer than it may. */
  #limitTime(): void {
    const { timeoutMs = 0, kind } = this.#running ?? {};
    if (timeoutMs === 0) return;
    // A ping bounds the answer of a process, which takes real time.
    const clock = kind === frameKinds.ping ? systemClock : this.#options.clock;
    this.#limitTimer = clock.after(timeoutMs, () => {
      this.#isTimedOut = true;
      void this.end();
    });
  }

  /** Looks whether a batch takes too long. */
  #checkTime(): void {
    this.#lateTimer = undefined;
    if (!this.#isSoonIdle) return;
    const leftMs = this.#sentAt + maxBatchMs - performance.now();
    if (leftMs > 0) {
      this.#lateTimer = setTimeout(() => this.#checkTime(), Math.ceil(leftMs));
      return;
    }
    this.#isSoonIdle = false;
    this.#takeBack();
    this.#limitTime();
  }

  /** A client has disconnected. */
  #abandoned(): void {
    this.#takeBack();
    if (this.#running?.signal?.aborted) void this.end();
  }

  #takeBack(): void {
    const begun = this.#batch?.takeBack() ?? this.#sent.length;
    // Those that it has answered up to now: it may have been quicker than this call.
    this.#readMemory();
    this.#options.onReturned(this.#requests.splice(begun));
  }

  #readMemory(): void {
    const answers = this.#batch?.newAnswers();
    if (answers !== undefined && answers.length > 0) this.#frames.push(answers);
  }

  #received(kind: number, text: string): void {
    if (kind === frameKinds.committed) {
      this.#committed = Number(text);
      return;
    }
    const request = kind === frameKinds.skipped ? undefined : this.#take();
    // It gets its next requests before the last one is answered.
    if (request === undefined || this.#answered === this.#sent.length) this.#finished(request?.kind);
    if (kind === frameKinds.result) request?.succeeded(text);
    else request?.failed(toFault(text));
  }

  #finished(last: FrameKind | undefined): void {
    this.#endBatch();
    this.answeredAt = this.#options.clock.monotonic();
    if (!this.#isEnding && last !== frameKinds.ping) this.#options.onIdle(this);
  }

  #exited(): void {
    this.#isEnding = true;
    this.#endBatch();
    clearTimeout(this.#lateTimer);
    this.#ended.resolve();
    this.#options.onExit(this);
    this.#takeBack();
    const committed = this.#committed;
    const request = this.#take();
    if (request === undefined) return;
    if (this.#isTimedOut) request.failed(stoppedFault(request.timeoutMs, committed));
    else request.failed(request.signal?.aborted ? abandonedFault(committed) : endedEarly());
  }

  #endBatch(): void {
    this.#isSoonIdle = false;
    this.#limitTimer?.[Symbol.dispose]();
    this.#limitTimer = undefined;
    // Not with each answer: several requests of one client have the same signal.
    for (const { signal } of this.#sent) signal?.removeEventListener("abort", this.#abandon);
  }

  /** The running request, which is answered now. */
  #take(): ChildRequest | undefined {
    const request = this.#running;
    this.#answered += 1;
    this.#committed = 0;
    return request;
  }
}

function endedEarly(): Fault {
  return new Fault("DatabaseError", "the process that ran the statement ended before it answered");
}

function toFault(json: string): Fault {
  const { kind, detail, data } = JSON.parse(json) as {
    kind: FaultKind;
    detail: string;
    data: Record<string, unknown>;
  };
  return new Fault(kind, detail, data);
}
