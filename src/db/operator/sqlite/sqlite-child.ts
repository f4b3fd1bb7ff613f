import { Fault, type FaultKind } from "../../../base/fault.ts";
import { abandonedFault, stoppedFault } from "../operator-sql.ts";
import { type Channel, type ChannelKind, databaseVariable, openChannel, parentVariable } from "./channel.ts";
import { encodeFrame, type FrameKind, FrameReader, frameKinds } from "./frames.ts";

/** The time that a new child may take to start on a busy machine. */
const startMs = 30_000;
/** The time in which an idle child must answer a ping. */
const pingMs = 1000;
/** A child that answered within this time needs no ping before its next request. */
const freshMs = 100;

/** ChildRequest is a request to a child, and who gets its answer. */
export interface ChildRequest {
  readonly kind: FrameKind;
  readonly text: string;
  /** The time that the child may take; 0 means no limit. */
  readonly timeoutMs: number;
  /** Ends the child, and so the request. */
  readonly signal?: AbortSignal | undefined;
  succeeded(text: string): void;
  failed(error: unknown): void;
}

export interface SqliteChildOptions {
  readonly channel: ChannelKind;
  /** The command that runs `runSqliteChild` in a new process. */
  readonly command: readonly string[];
  /** The database file. */
  readonly path: string;
  /** Called when the child has answered a request and can take the next. */
  onIdle(child: SqliteChild): void;
  /** Called once, when the process has ended. */
  onExit(child: SqliteChild): void;
}

/** SqliteChild is a process that runs an operator's statements, one request at a time. */
export class SqliteChild {
  readonly #options: SqliteChildOptions;
  readonly #channel: Promise<Channel>;
  readonly #ended = Promise.withResolvers<void>();
  #send: Channel["send"] = () => {};
  #request: ChildRequest | undefined;
  /** The number of statements of the present request that are committed. */
  #kept = 0;
  #timer: Timer | undefined;
  #isTimedOut = false;
  readonly #abandon = () => void this.end();
  #isEnding = false;
  /** When it answered last, in the time of `performance.now()`. */
  answeredAt = 0;

  constructor(options: SqliteChildOptions) {
    this.#options = options;
    const { channel, command, path } = options;
    const frames = new FrameReader((kind, text) => this.#received(kind, text));
    const channelEnded = Promise.withResolvers<void>();
    this.#channel = openChannel({
      kind: channel,
      command,
      env: { TZ: process.env.TZ ?? "", [parentVariable]: String(process.pid), [databaseVariable]: path },
      data: (bytes) => frames.push(bytes),
      end: channelEnded.resolve,
    });
    void this.#channel
      .then(({ process }) => Promise.all([process.exited, channelEnded.promise]))
      .catch(() => {})
      .then(() => this.#exited());
  }

  /** Resolves when the process answers, so that its start is not part of a statement's time. Throws if it does not. */
  async start(): Promise<void> {
    this.#send = (await this.#channel).send;
    if (await this.#ping(startMs)) return;
    throw new Fault(
      "DatabaseError",
      `the process that runs statements ended, or did not start within ${startMs} ms; try again`,
    );
  }

  /** Whether it has just answered. One that has not may have been killed or suspended from outside. */
  get isFresh(): boolean {
    return performance.now() - this.answeredAt < freshMs;
  }

  /** Resolves to whether the idle child answers; one that does not is ended. */
  answersPing(): Promise<boolean> {
    return this.#ping(pingMs);
  }

  /** Sends a request to the idle child. */
  run(request: ChildRequest): void {
    if (this.#isEnding) {
      request.failed(endedEarly());
      return;
    }
    this.#request = request;
    this.#kept = 0;
    if (request.timeoutMs > 0)
      this.#timer = setTimeout(() => {
        this.#isTimedOut = true;
        void this.end();
      }, request.timeoutMs);
    request.signal?.addEventListener("abort", this.#abandon);
    this.#send(encodeFrame(request.kind, request.text));
    if (request.signal?.aborted) this.#abandon();
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
      this.run({ ...request, succeeded: () => resolve(true), failed: () => resolve(false) });
    });
  }

  #received(kind: number, text: string): void {
    if (kind === frameKinds.kept) {
      this.#kept = Number(text);
      return;
    }
    const request = this.#take();
    this.answeredAt = performance.now();
    // It gets its next request before this one is answered.
    if (!this.#isEnding && request?.kind !== frameKinds.ping) this.#options.onIdle(this);
    if (kind === frameKinds.result) request?.succeeded(text);
    else request?.failed(toFault(text));
  }

  #exited(): void {
    this.#isEnding = true;
    this.#ended.resolve();
    this.#options.onExit(this);
    const request = this.#take();
    if (request === undefined) return;
    if (this.#isTimedOut) request.failed(stoppedFault(request.timeoutMs, this.#kept));
    else request.failed(request.signal?.aborted ? abandonedFault(this.#kept) : endedEarly());
  }

  #take(): ChildRequest | undefined {
    const request = this.#request;
    this.#request = undefined;
    clearTimeout(this.#timer);
    request?.signal?.removeEventListener("abort", this.#abandon);
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
