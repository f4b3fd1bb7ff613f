interface Holder {
  readonly paths: readonly string[];
  readonly done: Promise<void>;
}

/**
 * PathMutex runs work on slash-separated paths one at a time: work waits for all earlier work on the same paths, their ancestors
 * and their descendants.
 */
export class PathMutex {
  readonly #holders = new Set<Holder>();

  async run<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
    const earlier = [...this.#holders].filter((holder) => overlap(holder.paths, paths));
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const holder = { paths, done };
    this.#holders.add(holder);
    try {
      for (const other of earlier) await other.done;
      return await work();
    } finally {
      this.#holders.delete(holder);
      resolve();
    }
  }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((a) => others.some((b) => contains(a, b) || contains(b, a)));
}

function contains(folder: string, path: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}
