// What several callers need at once. SharedRuns and BatchLoader let them share work, FairSemaphore and PathMutex let them
// wait for their turn, forEachConcurrently bounds one caller's own, and RefCounted closes what nobody uses any more.

import { atMost, type Clock } from "./clock.ts";

/** Group is the run under way for one key, and the one that begins after it. */
interface Group<T> {
  running: Promise<T> | undefined;
  next: Promise<T> | undefined;
}

/**
 * SharedRuns lets all who need the same work share one run of it, by key. Those who need any outcome `join` the run under way. Those who
 * need one that knows of what they did before ask for the `next`. If a run fails, everybody who shares it gets the error, and nobody else.
 */
export class SharedRuns<T = void> {
  readonly #groups = new Map<string, Group<T>>();

  /** Resolves to the outcome of the run under way, or of one that begins now. */
  join(key: string, run: () => Promise<T>): Promise<T> {
    const group = this.#groupOf(key);
    return group.running ?? this.#begin(key, group, run);
  }

  /** Resolves to the outcome of a run that begins after this call: in this turn of the event loop, or after the run under way. */
  next(key: string, run: () => Promise<T>): Promise<T> {
    const group = this.#groupOf(key);
    group.next ??= ended(group.running).then(() => {
      group.next = undefined;
      return this.#begin(key, group, run);
    });
    return group.next;
  }

  #groupOf(key: string): Group<T> {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group: Group<T> = { running: undefined, next: undefined };
    this.#groups.set(key, group);
    return group;
  }

  #begin(key: string, group: Group<T>, run: () => Promise<T>): Promise<T> {
    group.running = run().finally(() => {
      group.running = undefined;
      if (group.next === undefined) this.#groups.delete(key);
    });
    return group.running;
  }
}

async function ended(run: Promise<unknown> | undefined): Promise<void> {
  await run?.catch(() => {});
}

/** Batch is one load of several keys. */
interface Batch<K, V> {
  readonly keys: Set<K>;
  readonly values: Promise<ReadonlyMap<K, V>>;
}

/**
 * BatchLoader loads values by key, at most one load at a time, so any number of callers take one database connection. Keys that are
 * requested during a load are loaded together by the next one. A value is always of a load that began after its caller asked: nobody
 * joins one that runs. Callers that wait behind a load that fails get its error: a database that does not answer would make
 * them wait as long again.
 */
export class BatchLoader<K, V> {
  readonly #loadAll: (keys: ReadonlySet<K>) => Promise<ReadonlyMap<K, V>>;
  #running: Batch<K, V> | undefined;
  #next: Batch<K, V> | undefined;

  constructor(loadAll: (keys: ReadonlySet<K>) => Promise<ReadonlyMap<K, V>>) {
    this.#loadAll = loadAll;
  }

  async load(key: K): Promise<V | undefined> {
    return (await this.loadMany([key])).get(key);
  }

  /** Loads several keys. The result may have others too. */
  loadMany(keys: Iterable<K>): Promise<ReadonlyMap<K, V>> {
    this.#next ??= this.#gather(this.#running?.values ?? Promise.resolve());
    for (const key of keys) this.#next.keys.add(key);
    return this.#next.values;
  }

  #gather(before: Promise<unknown>): Batch<K, V> {
    const batch: Batch<K, V> = { keys: new Set(), values: before.then(() => this.#run(batch)) };
    const settled = () => {
      if (this.#next === batch) this.#next = undefined;
      if (this.#running === batch) this.#running = undefined;
    };
    batch.values.then(settled, settled);
    return batch;
  }

  #run(batch: Batch<K, V>): Promise<ReadonlyMap<K, V>> {
    this.#next = undefined;
    this.#running = batch;
    return this.#loadAll(batch.keys);
  }
}

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

/** Pairs of paths that are compared one by one; more take too long. */
const maxPairs = 64;

function overlap(some: readonly string[], others: readonly string[]): boolean {
  if (some.length * others.length <= maxPairs)
    return some.some((a) => others.some((b) => contains(a, b) || contains(b, a)));
  const own = new Set(some);
  const above = new Set(some.flatMap(withAbove));
  return others.some((path) => above.has(path) || withAbove(path).some((at) => own.has(at)));
}

/** A path and those of all folders above it. */
function withAbove(path: string): string[] {
  const paths = [path];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
    paths.push(path.slice(0, at));
  return path === "" ? paths : [...paths, ""];
}

function contains(folder: string, path: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

interface Waiter {
  enter(): void;
  giveUp(): void;
}

/** AcquireOptions say in which queue a caller waits, and for how long. */
interface AcquireOptions {
  /** Waiters with the same key are one queue. */
  readonly key?: string;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * FairSemaphore is a counting semaphore that is fair between keys: waiters are served round-robin by key, so that one busy key
 * delays the others by one place and not by its whole queue. It is for work that should wait; `ConnectionLimiter` of the HTTP
 * module is another concept: it refuses instead of queueing, its limit changes with the configuration, and its permits can be
 * suspended.
 */
export class FairSemaphore {
  #free: number;
  #waiting = 0;
  readonly #queues = new Map<string, Waiter[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /** The number of waiters, of all keys or of one. */
  waiting(key?: string): number {
    return key === undefined ? this.#waiting : (this.#queues.get(key)?.length ?? 0);
  }

  /** Resolves to true with a permit, which the caller must release, or to false if `timeoutMs` passed or `signal` fired first. */
  async acquire({ key = "", timeoutMs, signal }: AcquireOptions = {}): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    if (signal?.aborted) return false;
    return new Promise((resolve) => {
      const queue = this.#queues.get(key) ?? [];
      this.#queues.set(key, queue);
      const settle = (acquired: boolean) => {
        this.#waiting -= 1;
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
        resolve(acquired);
      };
      const giveUp = () => {
        queue.splice(queue.indexOf(waiter), 1);
        if (queue.length === 0) this.#queues.delete(key);
        settle(false);
      };
      const waiter: Waiter = { enter: () => settle(true), giveUp };
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      signal?.addEventListener("abort", giveUp);
      queue.push(waiter);
      this.#waiting += 1;
    });
  }

  /**
   * Ends the wait of the last waiter in the longest queue, without a permit. Returns false if no queue is longer than that of
   * `key`.
   */
  evictBeside(key: string): boolean {
    let largest = this.#queues.get(key) ?? [];
    let found = false;
    for (const queue of this.#queues.values()) {
      if (queue.length <= largest.length) continue;
      largest = queue;
      found = true;
    }
    if (found) largest.at(-1)?.giveUp();
    return found;
  }

  release(): void {
    const first = this.#queues.entries().next().value;
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [key, queue] = first;
    const waiter = queue.shift();
    // Round-robin: a key that was served goes behind the others.
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
    waiter?.enter();
  }
}

/**
 * `forEachConcurrently` runs `work` for every item, up to `limit` at the same time. It rejects with the first failure, once those that
 * run have ended; no further ones are begun then.
 */
export async function forEachConcurrently<T>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const item of items) {
    const one = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= limit) await Promise.race(running);
    if (failures.length > 0) break;
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

/** RefCounted counts the users of a value that a reload replaces as a whole, so that it is closed only after its last user. */
export class RefCounted<T> {
  #users = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(readonly value: T) {}

  retain(): void {
    this.#users += 1;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#idle?.resolve();
  }

  /** Resolves to true once the value has no users, or to false after `ms`. */
  async idle(ms: number, clock: Clock): Promise<boolean> {
    if (this.#users === 0) return true;
    this.#idle ??= Promise.withResolvers();
    const idle = this.#idle.promise.then(() => true);
    return atMost(idle, { ms, clock, late: false });
  }
}
