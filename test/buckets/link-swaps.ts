import { expect } from "bun:test";
import { within } from "../support/until.ts";

export const largeBytes = 3 * 1024 * 1024;

/**
 * Until it is killed: `docs` is a folder, then a link that leads out; `linked` a link to a folder inside, then to one
 * outside; `a.txt` and `large.bin` a file, then a link to one outside; `pipe` a file, then a FIFO. A program of its own.
 */
async function swap(bucket: string, outside: string, spare: string, largeBytes: number): Promise<void> {
  const { linkSync, renameSync, rmSync, symlinkSync, writeFileSync } = await import("node:fs");
  const deadline = Date.now() + 110_000;
  const at = (name: string) => `${bucket}/${name}`;
  const tried = (step: () => void) => {
    try {
      step();
      return true;
    } catch {
      return false;
    }
  };
  const clear = (path: string) => tried(() => rmSync(path, { recursive: true, force: true }));
  const insist = (step: () => void, path: string) => {
    while (!tried(step) && Date.now() < deadline) clear(path);
  };
  // A rename replaces a file or a link in one step: there is no moment without the name.
  const put = (name: string, make: (spare: string) => void) => {
    clear(spare);
    make(spare);
    tried(() => renameSync(spare, at(name)));
  };
  writeFileSync(`${spare}.large`, "m".repeat(largeBytes));
  const steps = [
    () => insist(() => renameSync(at("docs"), at("docs.kept")), at("docs.kept")),
    () => insist(() => symlinkSync(outside, at("docs")), at("docs")),
    () => put("linked", (path) => symlinkSync(outside, path)),
    () => put("a.txt", (path) => symlinkSync(`${outside}/a.txt`, path)),
    () => put("large.bin", (path) => symlinkSync(`${outside}/large.bin`, path)),
    () => put("pipe", (path) => linkSync(`${spare}.fifo`, path)),
    () => clear(at("docs")),
    () => insist(() => renameSync(at("docs.kept"), at("docs")), at("docs")),
    () => put("linked", (path) => symlinkSync("real", path)),
    () => put("a.txt", (path) => writeFileSync(path, "mine")),
    () => put("large.bin", (path) => linkSync(`${spare}.large`, path)),
    () => put("pipe", (path) => writeFileSync(path, "mine")),
  ];
  for (let turn = 0; Date.now() < deadline; turn += 1) {
    for (const [at, step] of steps.entries()) {
      step();
      // Pauses of up to 0.4 ms, each of another length.
      const end = performance.now() + (((turn * steps.length + at) * 0.618_034) % 1) * 0.4;
      while (performance.now() < end);
    }
    if (turn === 0) console.log("begun");
  }
}

/** Starts the program, which goes on until the end of its scope. */
export async function swapping(bucket: string, outside: string, spare: string): Promise<AsyncDisposable> {
  Bun.spawnSync(["mkfifo", `${spare}.fifo`]);
  const script = `(${swap})(...${JSON.stringify([bucket, outside, spare, largeBytes])})`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  await within("the swapping begins", child.stdout.getReader().read());
  return {
    async [Symbol.asyncDispose]() {
      expect(child.exitCode).toBeNull();
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
