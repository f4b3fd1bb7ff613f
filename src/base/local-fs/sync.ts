import { open } from "node:fs/promises";

/**
 * `syncFiles` resolves when files of one file system are on its disk, and not only in its cache. `sync -f` writes the whole file
 * system at once (syncfs), in a process of its own, because the call stops whoever makes it; a thousand files take a thousand
 * times as long one by one, which is what is left where that program is missing or may not be run.
 */
export async function syncFiles(folder: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0 || (await syncFileSystem(folder))) return;
  for (const path of paths) {
    const file = await open(path, "r");
    await file.datasync().finally(() => file.close());
  }
}

async function syncFileSystem(folder: string): Promise<boolean> {
  const program = Bun.which("sync");
  if (program === null) return false;
  try {
    const child = Bun.spawn([program, "-f", folder], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    return (await child.exited) === 0;
  } catch {
    // It may not be run; the files are synced one by one.
    return false;
  }
}
