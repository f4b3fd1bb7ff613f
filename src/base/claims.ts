interface Claim {
  readonly paths: readonly string[];
  readonly done: Promise<void>;
}

/** Work on slash-separated paths, in turn: what touches a path waits for all earlier work on it, above it and below it. */
export class Claims {
  readonly #claims = new Set<Claim>();

  async hold<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = [...this.#claims].filter((claim) => overlap(claim.paths, paths));
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const claim = { paths, done };
    this.#claims.add(claim);
    try {
      for (const earlier of before) await earlier.done;
      return await work();
    } finally {
      this.#claims.delete(claim);
      resolve();
    }
  }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((a) => others.some((b) => holds(a, b) || holds(b, a)));
}

function holds(folder: string, path: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}
