import { atMost, type Clock } from "../base/clock.ts";
import { messageOf } from "../base/fault.ts";
import { Task } from "../base/task.ts";
import { type JournalRows, type MemoryRows, timedKey } from "../db/rows/memory-rows.ts";
import { type LogEntry, levels } from "../log/entry.ts";
import { auditTarget, parseFilter } from "../log/filter.ts";
import type { Logger, LogHub } from "../log/hub.ts";
import { BulkRuns, type LogRing } from "../log/ring.ts";
import { outsideSpans, quietly } from "../log/span.ts";

/** What a kill may lose: entries wait so long for others, with which they are written. */
const writeAfterMs = 2000;
const retryMs = 5000;
/** Entries that wait for a database which is away; then the oldest is dropped. */
const maxWaiting = 5000;
/** The time that a stop waits for the last write. */
const closeTimeoutMs = 3000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Warnings of a node that are kept, and how long. */
const maxWarnings = 200;
const warningsMs = 7 * dayMs;
const maxWarningsBytes = 1024 * 1024;
/** The longest audit trail, whatever the time to keep it is. */
const maxAuditRows = 100_000;
const maxAuditBytes = 64 * 1024 * 1024;
/** After so many written rows the audit trail is trimmed before its time. */
const maxUntrimmed = 5000;
/** The longest part of a field of an entry. */
const maxFieldChars = 4096;

/** The history is written each minute, into rows of ten minutes. */
const saveMs = 60_000;
const chunkMs = 600_000;
/** The fine history is of the last hour; a row is needed until the end of its ten minutes is older. */
const fineStepSeconds = 10;
const fineMs = hourMs + chunkMs;

/** AuditEntry is an entry of the audit trail. */
export interface AuditEntry extends LogEntry {
  /** Later entries have a greater id. */
  readonly id: string;
  /** The name of the node that made the change. */
  readonly node: string;
}

/** AuditFilter chooses entries of the audit trail. */
export interface AuditFilter {
  readonly max: number;
  /** Only entries before the one with this id. */
  readonly before?: string | undefined;
  readonly since?: number | undefined;
  /** Codes of events, or what they begin with. */
  readonly events?: readonly string[] | undefined;
  /** Keys or user names of tokens. */
  readonly by?: readonly string[] | undefined;
  readonly bucket?: string | undefined;
  readonly text?: string | undefined;
}

/** HistoryPart is a piece of the history of the metrics, in steps of the same length. */
interface HistoryPart {
  readonly step_seconds: number;
  readonly start: number | null;
  readonly series: Readonly<Record<string, ReadonlyArray<number | null>>>;
}

interface MemoryHome {
  readonly rows: MemoryRows;
  readonly uuid: string;
  release(): void;
}

interface NodeMemoryOptions {
  readonly acquire: () => MemoryHome;
  /** The name of this node. */
  readonly name: () => string;
  /** The number of this process, if the node has several. */
  readonly process?: number | undefined;
  readonly hub: LogHub;
  readonly log: Logger;
  readonly ring: LogRing;
  readonly metrics: {
    history(filter: { readonly since: number }): readonly HistoryPart[];
    restore(parts: readonly HistoryPart[]): void;
  };
  /** How long the audit trail is kept. */
  readonly keepAuditMs: () => number;
  readonly clock: Clock;
}

/**
 * NodeMemory is what a node remembers over a restart, in the database: the audit trail of all nodes, its own last warnings, and a day of
 * metrics. It writes in the background, so that no change waits for its record; `close` writes what is left.
 */
export class NodeMemory {
  readonly #options: NodeMemoryOptions;
  readonly #audit: Waiting;
  readonly #warnings: Waiting;
  readonly #runs = new BulkRuns();
  /** The keys of entries that count many changes, and are written again when they count more. */
  readonly #runKeys = new WeakMap<object, string>();
  readonly #detach: ReadonlyArray<() => void>;
  readonly #writing: Task;
  readonly #saving: Task;
  /** Ends the last key that was made, so that no two are equal. */
  readonly #writer = crypto.randomUUID().slice(0, 8);
  #lastStamp = 0;
  #untrimmed = 0;
  #trimmedAt = Number.NEGATIVE_INFINITY;
  /** The beginning of the row of history that is being written. */
  #chunkSince: number;

  constructor(options: NodeMemoryOptions) {
    const { clock, hub, log } = options;
    this.#options = options;
    this.#chunkSince = clock.now();
    this.#audit = new Waiting(maxWaiting);
    this.#warnings = new Waiting(maxWarnings);
    this.#detach = [
      hub.attach({ filter: parseFilter(`off,${auditTarget}=info`), write: (entry) => this.#addAudit(entry) }),
      hub.attach({
        filter: parseFilter("warn"),
        write: (entry) => this.#add(this.#warnings, this.#newKey(), entry),
      }),
    ];
    this.#writing = new Task({
      clock,
      closeMs: Number.POSITIVE_INFINITY,
      run: () => quietly(() => this.#write()),
      failed: (error) => {
        log.debug("audit entries and warnings were not stored", { reason: messageOf(error) });
        return retryMs;
      },
    });
    this.#saving = new Task({
      clock,
      everyMs: saveMs,
      closeMs: Number.POSITIVE_INFINITY,
      run: () =>
        quietly(async () => {
          await this.#save();
          await this.#trim();
        }),
      failed: (error) => log.debug("the history was not stored", { reason: messageOf(error) }),
    });
  }

  /** Takes up what the node knew before its last stop, and begins to write the history. Never rejects. */
  async open(): Promise<void> {
    try {
      await quietly(() => this.#with((rows, uuid) => this.#restore(rows, uuid)));
    } catch (error) {
      this.#options.log.debug("what the node knew before its restart cannot be read", {
        reason: messageOf(error),
      });
    }
    this.#saving.start();
  }

  /** Returns entries of the audit trail, the oldest first: of those that pass the filter the newest. */
  async audit(filter: AuditFilter): Promise<AuditEntry[]> {
    // What this node has acknowledged is in the answer.
    if (this.#audit.entries.size > 0) this.#writing.dueIn(0);
    await this.#writing.settled();
    const found = await this.#with((rows) =>
      rows.audit.newest({ ...filter, matches: ({ value }) => passes(value, filter) }),
    );
    return found.map(({ key, value }) => ({ node: "", ...(value as LogEntry), id: key })).reverse();
  }

  /** Writes what is not written yet, unless the database takes too long. Never rejects. */
  async close(): Promise<void> {
    for (const detach of this.#detach) detach();
    const written = Promise.all([this.#writing.close(), this.#saving.close()]).then(() =>
      quietly(async () => {
        await this.#write();
        await this.#save();
      }),
    );
    const { log } = this.#options;
    await atMost(
      written.catch((error) => log.debug("the last entries were not stored", { reason: messageOf(error) })),
      { ms: closeTimeoutMs },
    );
  }

  #addAudit(entry: LogEntry): void {
    const run = this.#runs.add(entry);
    const key = (run && this.#runKeys.get(run)) ?? this.#newKey();
    if (run !== undefined) this.#runKeys.set(run, key);
    this.#add(this.#audit, key, run?.rest ?? entry);
  }

  #add(waiting: Waiting, key: string, entry: LogEntry): void {
    waiting.add(key, { ...bounded(entry), node: this.#options.name() });
    this.#writing.dueIn(writeAfterMs);
  }

  #newKey(): string {
    this.#lastStamp = Math.max(this.#options.clock.now() * 1000, this.#lastStamp + 1);
    return timedKey(this.#lastStamp, this.#writer);
  }

  async #with<T>(work: (rows: MemoryRows, uuid: string) => Promise<T>): Promise<T> {
    const { rows, uuid, release } = this.#options.acquire();
    try {
      return await work(rows, uuid);
    } finally {
      release();
    }
  }

  async #write(): Promise<void> {
    await this.#with(async (rows, uuid) => {
      this.#untrimmed += this.#audit.entries.size;
      await this.#audit.writeTo(rows.audit);
      await this.#warnings.writeTo(rows.warnings(uuid));
    });
    const dropped = this.#audit.takeDropped();
    if (dropped > 0)
      outsideSpans(() =>
        this.#options.log.event(
          "audit.dropped",
          `${dropped} audit entries were not stored: the database was away`,
          {
            dropped,
          },
        ),
      );
    if (this.#untrimmed > maxUntrimmed) this.#saving.dueIn(0);
  }

  async #save(): Promise<void> {
    const { clock, metrics, process } = this.#options;
    const now = clock.now();
    const parts = metrics.history({ since: this.#chunkSince });
    const rows = parts.flatMap((part) =>
      part.start === null ? [] : [[timedKey(part.start * 1000, suffixOf(part.step_seconds)), part] as const],
    );
    await this.#with((home, uuid) => home.metrics(processOf(uuid, process)).write(new Map(rows)));
    if (now - this.#chunkSince >= chunkMs || now < this.#chunkSince) this.#chunkSince = now;
  }

  /** Deletes what is too old or too much, once an hour. */
  async #trim(): Promise<void> {
    const { clock, keepAuditMs } = this.#options;
    if (this.#untrimmed <= maxUntrimmed && clock.monotonic() - this.#trimmedAt < hourMs) return;
    [this.#untrimmed, this.#trimmedAt] = [0, clock.monotonic()];
    const keyBefore = (ms: number) => timedKey((clock.now() - ms) * 1000, "");
    await this.#with(async (rows, uuid) => {
      const maxAudit = { maxRows: maxAuditRows, maxBytes: maxAuditBytes };
      await rows.audit.trim({ before: keyBefore(keepAuditMs()), ...maxAudit });
      const bounds = { maxRows: maxWarnings, maxBytes: maxWarningsBytes };
      await rows.warnings(uuid).trim({ before: keyBefore(warningsMs), ...bounds });
      await rows.forgetNodes({ warnings: keyBefore(warningsMs), metrics: keyBefore(dayMs) });
      await rows.forgetSteps(suffixOf(fineStepSeconds), keyBefore(fineMs));
    });
  }

  async #restore(rows: MemoryRows, uuid: string): Promise<void> {
    const { ring, metrics, process, clock } = this.#options;
    const warnings = await rows.warnings(uuid).newest({ max: maxWarnings });
    const entries = warnings.map(({ value }) => value).filter(isEntry);
    // As they were: readers know again what they have read before.
    ring.restore(
      entries.reverse().map(({ timestamp, level, target, message, fields, spans }) => ({
        timestamp,
        level,
        target,
        message,
        fields,
        spans,
      })),
    );
    const since = timedKey((clock.now() - dayMs) * 1000, "");
    const saved = await rows
      .metrics(processOf(uuid, process))
      .newest({ max: maxHistoryRows, matches: ({ key }) => key >= since });
    metrics.restore(saved.map(({ value }) => value).filter(isPart));
  }
}

/** The end of the key of a row of history. */
function suffixOf(stepSeconds: number): string {
  return `/${stepSeconds}`;
}

/** More than a day has. */
const maxHistoryRows = 400;

function processOf(uuid: string, process: number | undefined): string {
  return process === undefined ? uuid : `${uuid}/${process}`;
}

type StoredEntry = LogEntry & { readonly node: string };

/** Waiting are entries that are not written yet. */
class Waiting {
  entries = new Map<string, StoredEntry>();
  readonly #max: number;
  #dropped = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(key: string, entry: StoredEntry): void {
    this.entries.set(key, entry);
    const [oldest] = this.entries.keys();
    if (this.entries.size <= this.#max || oldest === undefined) return;
    this.entries.delete(oldest);
    this.#dropped += 1;
  }

  /** Returns how many were dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  async writeTo(rows: JournalRows<unknown>): Promise<void> {
    const written = this.entries;
    if (written.size === 0) return;
    this.entries = new Map();
    try {
      await rows.write(written);
    } catch (error) {
      const added = this.entries;
      this.entries = written;
      for (const [key, entry] of added) this.add(key, entry);
      throw error;
    }
  }
}

/** `bounded` cuts long fields: whoever may make changes chooses the content of some. */
function bounded(entry: LogEntry): LogEntry {
  const { fields } = entry;
  if (JSON.stringify(fields).length <= maxFieldChars) return entry;
  const short = Object.entries(fields).map(([name, value]) => [name, shortened(value)] as const);
  return { ...entry, fields: Object.fromEntries(short) };
}

function shortened(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, maxFieldChars);
  if (typeof value !== "object" || value === null) return value;
  let left = maxFieldChars;
  const fits = (part: unknown) => {
    left -= JSON.stringify(part)?.length ?? 0;
    return left >= 0;
  };
  if (Array.isArray(value)) return value.filter(fits);
  return Object.fromEntries(Object.entries(value).filter(fits));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The database may have been written by hand. */
function isEntry(value: unknown): value is LogEntry {
  return (
    isObject(value) &&
    !Number.isNaN(Date.parse(String(value.timestamp))) &&
    levels.some((level) => level === value.level) &&
    typeof value.target === "string" &&
    typeof value.message === "string" &&
    isObject(value.fields) &&
    Array.isArray(value.spans)
  );
}

function isPart(value: unknown): value is HistoryPart {
  return (
    isObject(value) &&
    typeof value.step_seconds === "number" &&
    typeof value.start === "number" &&
    isObject(value.series) &&
    Object.values(value.series).every(Array.isArray)
  );
}

function passes(entry: unknown, { since, events, by, bucket, text }: AuditFilter): boolean {
  if (!isEntry(entry)) return false;
  const { event, token_key, username } = entry.fields;
  const code = String(event);
  if (since !== undefined && Date.parse(entry.timestamp) < since) return false;
  if (events !== undefined && !events.some((one) => code === one || code.startsWith(`${one}.`))) return false;
  if (by !== undefined && !by.some((one) => one === token_key || one === username)) return false;
  // `site@mwm3k2` is a deploy of the bucket `site`.
  if (bucket !== undefined && String(entry.fields.bucket).split("@", 1)[0] !== bucket) return false;
  const wanted = text?.toLowerCase().split(/\s+/) ?? [];
  const shown = wanted.length === 0 ? "" : JSON.stringify(entry).toLowerCase();
  return wanted.every((word) => shown.includes(word));
}
