import type { LogEntry } from "./entry.ts";
import { isBulkEvent } from "./events.ts";
import { auditTarget, type Filter } from "./filter.ts";
import type { Sink } from "./hub.ts";

/** `auditCapacity` is how many audit entries are kept in memory, whatever `memory_log_capacity` is. */
export const auditCapacity = 1000;

/**
 * LogRing keeps the newest entries in memory. When it is full, each new entry replaces the oldest. Of one client's changes of
 * many files in a row it keeps the first and one that counts the others, so that they do not replace everything else.
 */
export class LogRing implements Sink {
  readonly takesRelayed = true;
  #slots: LogEntry[] = [];
  /** The index of the oldest entry, once the ring is full. */
  #oldest = 0;
  #capacity = 0;
  #filter: Filter;
  readonly #runs = new BulkRuns();

  constructor(capacity: number, filter: Filter) {
    this.#filter = filter;
    this.resize(capacity, filter);
  }

  get filter(): Filter {
    return this.#filter;
  }

  /** Changes capacity and filter, and keeps the newest entries that fit. */
  resize(capacity: number, filter: Filter): void {
    this.#slots = capacity === 0 ? [] : this.entries().slice(-capacity);
    this.#oldest = 0;
    this.#capacity = capacity;
    this.#filter = filter;
    this.#runs.clear();
  }

  /** Puts older entries before those that there are, as far as they pass the filter and fit. */
  restore(older: readonly LogEntry[]): void {
    const all = [...older.filter((entry) => this.#filter.passes(entry)), ...this.entries()];
    this.#slots = this.#capacity === 0 ? [] : all.slice(-this.#capacity);
    this.#oldest = 0;
    this.#runs.clear();
  }

  write(entry: LogEntry): void {
    if (this.#capacity === 0) return;
    const run = this.#runs.add(entry);
    if (run === undefined) this.#append(entry);
    else if (run.slot !== undefined && this.#slots[run.slot] === run.held) this.#slots[run.slot] = run.rest;
    // The first that is counted, or the one before was dropped meanwhile.
    else run.slot = this.#append(run.rest);
    if (run !== undefined) run.held = run.rest;
  }

  /** Returns the entries, the oldest first. */
  entries(): LogEntry[] {
    return [...this.#slots.slice(this.#oldest), ...this.#slots.slice(0, this.#oldest)];
  }

  /** Returns the slot of the entry. */
  #append(entry: LogEntry): number {
    if (this.#slots.length < this.#capacity) return this.#slots.push(entry) - 1;
    const slot = this.#oldest;
    this.#slots[slot] = entry;
    this.#oldest = (slot + 1) % this.#capacity;
    return slot;
  }
}

/** Entries of a run that are kept one by one. */
const maxSingle = 20;
/** A run ends after this time, so that later changes are seen at their own time. */
const maxRunMs = 60_000;
/** When there are more runs, the oldest is forgotten. */
const maxRuns = 100;

/** BulkRun is one client that changes files in a row. */
interface BulkRun {
  readonly beganAt: number;
  entries: number;
  /** The deepest folder of all paths that `rest` counts. */
  folder: string | undefined;
  rest: LogEntry | undefined;
  /** Where the memory keeps `held`, the last `rest` that it was given. */
  slot: number | undefined;
  held: LogEntry | undefined;
}

/** LongRun is a run with more entries than are kept one by one; `rest` stands for the others and counts them. */
type LongRun = BulkRun & { readonly rest: LogEntry };

/**
 * BulkRuns finds the audit entries of one client that changes many files in a row, so that a memory of bounded size keeps the first of them
 * and one that counts the rest.
 */
export class BulkRuns {
  readonly #runs = new Map<string, BulkRun>();

  /** Returns the run that has counted the entry; undefined if the entry is to be kept itself. */
  add(entry: LogEntry, now = performance.now()): LongRun | undefined {
    const { fields, target } = entry;
    if (target !== auditTarget || !isBulkEvent(fields.event)) return undefined;
    const { event, token_key, username, address, bucket } = fields;
    const run = this.#runOf(JSON.stringify([event, token_key, username, address, bucket]), now);
    run.entries += 1;
    if (run.entries <= maxSingle) return undefined;
    // The time is that of the first, as the place in the memory is.
    const timestamp = run.rest?.timestamp ?? entry.timestamp;
    const path = String(fields.path);
    run.folder = run.folder === undefined ? folderOf(path) : commonFolder(run.folder, path);
    const { folder } = run;
    const { paths: _, ...one } = fields;
    const count = countOf(run.rest) + (countOf(entry) || 1);
    const rest = { ...entry, timestamp, fields: { ...one, count, folder } };
    return Object.assign(run, { rest });
  }

  clear(): void {
    this.#runs.clear();
  }

  #runOf(key: string, now: number): BulkRun {
    const known = this.#runs.get(key);
    if (known !== undefined && now - known.beganAt < maxRunMs) return known;
    const run: BulkRun = {
      beganAt: now,
      entries: 0,
      folder: undefined,
      rest: undefined,
      slot: undefined,
      held: undefined,
    };
    this.#runs.delete(key);
    this.#runs.set(key, run);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > maxRuns && oldest !== undefined) this.#runs.delete(oldest);
    return run;
  }
}

/** The number of files that an entry stands for, if it says so. */
function countOf(entry: LogEntry | undefined): number {
  const count = entry?.fields.count;
  return typeof count === "number" ? count : 0;
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** The deepest folder at or above `folder` that a path is in. */
function commonFolder(folder: string, path: string): string {
  let common = folder;
  while (common !== "" && !path.startsWith(`${common}/`)) common = folderOf(common);
  return common;
}
