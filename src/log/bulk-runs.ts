import { isBulkEvent } from "./audit-events.ts";
import type { LogEntry } from "./entry.ts";
import { auditTarget } from "./filter.ts";

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
    const rest = { ...entry, timestamp, fields: { ...fields, count: run.entries - maxSingle, folder } };
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

function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** The deepest folder at or above `folder` that a path is in. */
function commonFolder(folder: string, path: string): string {
  let common = folder;
  while (common !== "" && !path.startsWith(`${common}/`)) common = folderOf(common);
  return common;
}
