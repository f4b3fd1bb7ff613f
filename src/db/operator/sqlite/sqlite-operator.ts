import { FairSemaphore } from "../../../base/fair-semaphore.ts";
import { Fault, messageOf } from "../../../base/fault.ts";
import { RawJson } from "../../../base/raw-json.ts";
import { maxStatements, type OperatorSql, type SqlRequest, stoppedFault } from "../operator-sql.ts";
import { type ChildHeader, type ChildProgress, type ChildRequest, parentVariable } from "./child.ts";
import { type Binding, toBinding } from "./execute.ts";

/** An idle child that does not answer within this time is replaced. */
const pingMs = 1000;
/** The time that a new child may take to start on a busy machine. */
const startMs = 30_000;
/** The time after which an idle child is ended. */
const idleMs = 60_000;

/**
 * SqliteOperator runs an operator's statements in child processes of the same program: SQLite runs inside the process that calls it
 * and cannot be stopped from there. So a slow statement delays nobody, and one that never ends is killed.
 */
export class SqliteOperator implements OperatorSql {
  readonly #path: string;
  /** The command that runs `runSqliteChild` in a new process. */
  readonly #command: readonly string[];
  readonly #semaphore = new FairSemaphore(maxStatements);
  readonly #idle: Child[] = [];
  readonly #all = new Set<Child>();

  constructor(path: string, command: readonly string[]) {
    this.#path = path;
    this.#command = command;
  }

  async run({ sql, params, maxBytes, limit, timeoutMs }: SqlRequest): Promise<RawJson> {
    const bindings: Binding[] | null = params === null ? null : params.map(toBinding);
    return new RawJson(
      await this.#ask({ do: "execute", path: this.#path, sql, bindings, maxBytes, limit }, timeoutMs),
    );
  }

  async tableSizes(): Promise<ReadonlyMap<string, number>> {
    return new Map(
      JSON.parse(await this.#ask({ do: "sizes", path: this.#path }, 0)) as Array<[string, number]>,
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((child) => child.end()));
  }

  async #ask(request: ChildRequest, timeoutMs: number): Promise<string> {
    await this.#semaphore.acquire();
    try {
      const child = (await this.#idleChild()) ?? (await this.#start());
      try {
        return await child.ask(request, timeoutMs);
      } finally {
        if (child.alive) {
          this.#idle.push(child);
          child.endAfter(idleMs, () => void this.#idle.splice(this.#idle.indexOf(child), 1));
        }
      }
    } finally {
      this.#semaphore.release();
    }
  }

  /** Returns a child that waits for work. It is asked first, because it may have been killed from outside. */
  async #idleChild(): Promise<Child | undefined> {
    for (let child = this.#idle.pop(); child !== undefined; child = this.#idle.pop())
      if (await child.answersPing(pingMs)) return child;
    return undefined;
  }

  /** Starts a child and waits until it answers, so that its start does not count as time of the statement. */
  async #start(): Promise<Child> {
    const child = new Child(this.#command, () => {
      this.#all.delete(child);
      const at = this.#idle.indexOf(child);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    this.#all.add(child);
    if (await child.answersPing(startMs)) return child;
    throw new Fault(
      "DatabaseError",
      `the process that runs statements ended, or did not start within ${startMs} ms; try again`,
    );
  }
}

class Child {
  readonly #process;
  readonly #reader: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);
  #idleTimer: Timer | undefined;
  /** The number of statements of the present request that are committed. */
  #kept = 0;
  alive = true;

  constructor(command: readonly string[], gone: () => void) {
    this.#process = Bun.spawn([...command], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
      env: { TZ: process.env.TZ ?? "", [parentVariable]: String(process.pid) },
    });
    this.#reader = this.#process.stdout[Symbol.asyncIterator]();
    void this.#process.exited.then(() => {
      this.alive = false;
      gone();
    });
  }

  async ask(request: ChildRequest, timeoutMs: number): Promise<string> {
    clearTimeout(this.#idleTimer);
    this.#kept = 0;
    let timedOut = false;
    const kill = () => {
      timedOut = true;
      void this.end();
    };
    const timer = timeoutMs > 0 ? setTimeout(kill, timeoutMs) : undefined;
    try {
      this.#process.stdin.write(`${JSON.stringify(request)}\n`);
      await this.#process.stdin.flush();
      return await this.#answer();
    } catch (error) {
      if (error instanceof Fault) throw error;
      await this.end();
      if (timedOut) throw stoppedFault(timeoutMs, this.#kept);
      throw new Fault("DatabaseError", `the process that ran the statement ended: ${messageOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  async answersPing(timeoutMs: number): Promise<boolean> {
    try {
      await this.ask({ do: "ping" }, timeoutMs);
      return true;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  }

  /** Ends the child after `ms` without a request. */
  endAfter(ms: number, before: () => void): void {
    this.#idleTimer = setTimeout(() => {
      before();
      void this.end();
    }, ms);
    this.#idleTimer.unref();
  }

  async end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.alive = false;
    this.#process.kill("SIGKILL");
    await this.#process.exited;
  }

  async #answer(): Promise<string> {
    const header = await this.#header();
    const chunks = [this.#rest];
    let size = chunks[0]?.length ?? 0;
    while (size < header.bytes) {
      const chunk = await this.#chunk();
      chunks.push(chunk);
      size += chunk.length;
    }
    this.#rest = Buffer.alloc(0);
    const body = Buffer.concat(chunks).toString();
    if (header.ok) return body;
    const { detail, data } = JSON.parse(body) as { detail: string; data: Record<string, unknown> };
    throw new Fault(header.kind, detail, data);
  }

  /** Returns the header of the answer; the lines before it report how many statements are committed. */
  async #header(): Promise<ChildHeader> {
    for (;;) {
      const line = JSON.parse(await this.#line()) as ChildHeader | ChildProgress;
      if (!("kept" in line)) return line;
      this.#kept = line.kept;
    }
  }

  async #line(): Promise<string> {
    let end = this.#rest.indexOf("\n");
    while (end < 0) {
      await this.#more();
      end = this.#rest.indexOf("\n");
    }
    const line = this.#rest.subarray(0, end).toString();
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }

  async #more(): Promise<void> {
    this.#rest = Buffer.concat([this.#rest, await this.#chunk()]);
  }

  async #chunk(): Promise<Buffer> {
    const { done, value } = await this.#reader.next();
    if (done) throw new Error("it closed its output");
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
}
