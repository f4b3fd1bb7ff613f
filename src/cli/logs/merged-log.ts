import { type LogEntry, pause } from "../../client/index.ts";

/** Entries of several nodes are held this long, so that those of one moment can be put in order. */
const windowMs = 200;
/** While this many entries wait for the output, nodes are not read. */
const maxWaiting = 5000;

/** NodeEntry is a log entry and the node that wrote it. */
export interface NodeEntry {
  readonly node: string;
  readonly entry: LogEntry;
  /** Whether the node had it in memory before it was followed. */
  readonly isBuffered: boolean;
}

/** MergedLog puts the log entries of several nodes in the order of their times, as far as they arrive within a moment. */
export class MergedLog {
  #waiting: NodeEntry[] = [];
  #arrived = Promise.withResolvers<void>();
  #written = Promise.withResolvers<void>();

  /** Resolves when more may be added. */
  async add(
    node: string,
    entries: readonly LogEntry[],
    { isBuffered } = { isBuffered: false },
  ): Promise<void> {
    for (const entry of entries) this.#waiting.push({ node, entry, isBuffered });
    this.#arrived.resolve();
    while (this.#waiting.length >= maxWaiting) await this.#written.promise;
  }

  /**
   * Hands entries over to `write`, one call at a time, until `signal` fires; those that wait then are written. Nothing is written
   * before `begin`.
   */
  async run(
    write: (entries: readonly NodeEntry[]) => Promise<void>,
    { begin, signal }: { readonly begin: Promise<unknown>; readonly signal: AbortSignal },
  ): Promise<void> {
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    await Promise.race([begin, stopped]);
    while (!signal.aborted) {
      await Promise.race([this.#arrived.promise, stopped]);
      await pause(windowMs, signal);
      const batch = this.#waiting;
      this.#waiting = [];
      this.#arrived = Promise.withResolvers();
      this.#written.resolve();
      this.#written = Promise.withResolvers();
      await write(inOrder(batch));
    }
  }
}

/** `inOrder` sorts entries by time. Those of one node stay in the order in which it wrote them, as far as its clock did not go back. */
export function inOrder(entries: readonly NodeEntry[]): NodeEntry[] {
  return entries
    .map((item) => ({ item, at: Date.parse(item.entry.timestamp) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** `withoutEarlier` leaves out all but the last `lines` of the entries that the nodes kept. */
export function withoutEarlier(
  entries: readonly NodeEntry[],
  lines: number | undefined,
): readonly NodeEntry[] {
  let excess = lines === undefined ? 0 : entries.filter(({ isBuffered }) => isBuffered).length - lines;
  return entries.filter(({ isBuffered }) => !isBuffered || excess-- <= 0);
}
