import { expect } from "bun:test";
import { resolve } from "node:path";
import { within } from "./until.ts";

/** A process that sweeps the store, killed or not. */
export class Sweep {
  readonly #child;

  constructor(databaseUrl: string, folder: string, minAgeMs: number) {
    const program = resolve(import.meta.dir, "sweep-process.ts");
    this.#child = Bun.spawn([process.execPath, program, databaseUrl, folder, String(minAgeMs)], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
  }

  /** Resolves when the sweep has begun. */
  async begin(): Promise<void> {
    const { done } = await within("the sweep can begin", this.#child.stdout.getReader().read());
    expect(done).toBe(false);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }

  /** Waits until everything is done; returns how long that took. */
  async end(): Promise<number> {
    const begun = performance.now();
    expect(await within("the sweep ends", this.#child.exited)).toBe(0);
    return performance.now() - begun;
  }
}
