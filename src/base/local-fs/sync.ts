import { open } from "node:fs/promises";

/** Group is the work under way for one key, and that which begins after it. */
interface Group {
  readonly running: Promise<void>;
  next: Promise<void> | undefined;
}

/**
 * SharedSync runs `fsync` once for all who ask for it while an earlier one runs. That one may have begun before their change, so they
 * share the next.
 */
export class SharedSync {
  readonly #groups = new Map<string, Group>();

  /** Resolves after a sync of what `key` names that began after this call. If it fails, everybody who shares it gets the error. */
  run(key: string, sync: () => Promise<void>): Promise<void> {
    const group = this.#groups.get(key);
    if (group === undefined) return this.#start(key, sync);
    group.next ??= group.running.then(
      () => this.#start(key, sync),
      () => this.#start(key, sync),
    );
    return group.next;
  }

  #start(key: string, sync: () => Promise<void>): Promise<void> {
    const running = sync().finally(() => {
      if (this.#groups.get(key)?.next === undefined) this.#groups.delete(key);
    });
    this.#groups.set(key, { running, next: undefined });
    return running;
  }
}

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
