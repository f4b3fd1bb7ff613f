/** The number of characters that may wait for a reader of standard error that is too slow. */
const maxWaitingBytes = 1024 * 1024;

/** OutputStream is what TerminalOutput needs of `process.stderr`. */
export interface OutputStream {
  write(text: string): boolean;
  once(event: "drain", listener: () => void): unknown;
}

/**
 * TerminalOutput writes lines to standard error, which may be a pipe that nobody reads: the runtime would keep every line in memory
 * for it. Once the stream reports back-pressure, lines wait here, up to `maxWaitingBytes`; further ones are dropped, counted, and
 * reported by `notice` when the stream drains.
 */
export class TerminalOutput {
  readonly #stream: OutputStream;
  /** The line that reports how many lines were dropped. */
  readonly #notice: (dropped: number) => string;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #blocked = false;

  constructor(stream: OutputStream, notice: (dropped: number) => string) {
    this.#stream = stream;
    this.#notice = notice;
  }

  write(line: string): void {
    if (!this.#blocked) this.#send(line);
    else if (this.#waitingBytes + line.length > maxWaitingBytes) this.#dropped++;
    else {
      this.#waiting.push(line);
      this.#waitingBytes += line.length;
    }
  }

  /** Passes all waiting lines to the stream, also when the process ends. */
  flush(): void {
    const lines = this.#waiting.splice(0);
    this.#waitingBytes = 0;
    if (this.#dropped > 0) lines.push(this.#notice(this.#dropped));
    this.#dropped = 0;
    if (lines.length > 0) this.#send(lines.join(""));
  }

  #send(text: string): void {
    if (this.#stream.write(text) || this.#blocked) return;
    this.#blocked = true;
    this.#stream.once("drain", () => {
      this.#blocked = false;
      this.flush();
    });
  }
}
