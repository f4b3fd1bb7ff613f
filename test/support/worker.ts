import { join } from "node:path";
import { until, within } from "./until.ts";

/** A stopped attack may still wait for answers. */
const maxReportMs = 90_000;

/**
 * WorkerProcess runs a script of this folder in a process of its own, so that neither the test nor the script takes processor
 * time from the other's event loop. The script gets `spec` as JSON in its first argument, prints `ready`, works until its
 * standard input ends or its work is done, and prints its report as one line of JSON.
 */
export class WorkerProcess<Report> implements AsyncDisposable {
  readonly #child;
  readonly #report: Promise<Report>;
  #output = "";
  /** True once the report has been read, because the work was done or `stop` asked for it. */
  done = false;

  constructor(script: string, spec: object) {
    this.#child = Bun.spawn([process.execPath, join(import.meta.dir, script), JSON.stringify(spec)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    this.#report = this.#read(script);
    // A failure is thrown to whoever asks for the report.
    this.#report.catch(() => {});
  }

  async #read(script: string): Promise<Report> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stdout) this.#output += decoder.decode(bytes, { stream: true });
    const code = await this.#child.exited;
    const line = this.#output.split("\n").at(-2);
    if (code !== 0 || line === undefined || line === "ready")
      throw new Error(`${script} ended with ${code} and without a report`);
    this.done = true;
    return JSON.parse(line) as Report;
  }

  /** Waits until the script has printed `ready`. */
  async ready(): Promise<this> {
    await until("a worker process is ready", () => this.#output.startsWith("ready\n"));
    return this;
  }

  /** Waits for at most `ms` until the work is done; true when it is. */
  async finished(ms: number): Promise<boolean> {
    await Promise.race([this.#report, Bun.sleep(ms)]);
    return this.done;
  }

  /** Ends the work; its report. */
  async stop(): Promise<Report> {
    await this.#child.stdin.end();
    return within("a worker process reports", this.#report, maxReportMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}
