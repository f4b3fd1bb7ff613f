import { AsyncLocalStorage } from "node:async_hooks";
import { retry } from "../../../base/clock.ts";
import { Fault } from "../../../base/fault.ts";
import type { Database } from "../../../db/database.ts";
import { inSavepoint } from "../../../db/driver.ts";
import { type EntryRows, isFolderValue } from "../../../db/rows/entry-rows.ts";
import type { HeadValue } from "../../../db/rows/entry-values.ts";
import { isUnavailable } from "../../../db/unavailable.ts";
import { outsideSpans } from "../../../log/span.ts";
import type { FileChange } from "../../events.ts";
import type { OpenBucket } from "../../ports.ts";
import type { EntryWriter, WriteState } from "./entry-writer.ts";
import type { Heads } from "./heads.ts";
import type { WrittenRow } from "./known-rows.ts";
import { entryOf, locate, treeIsMissing } from "./locate.ts";

type Transaction = Parameters<Parameters<Database["transact"]>[0]>[0];

/** LockedBucket is a bucket whose head a transaction has locked. */
export interface LockedBucket {
  readonly transaction: Transaction;
  readonly head: HeadValue;
  /** The clock of the database. */
  readonly nowMs: number;
}

interface CommitterOptions {
  readonly bucketPath: string;
  readonly database: Database;
  readonly heads: Heads;
  /** Whether a change survives a power cut before it is answered. */
  readonly sync: boolean;
  readonly openWriter: (locked: LockedBucket) => EntryWriter;
  /** Called when files have changed. */
  readonly onChanged: () => void;
  readonly onDone?: OpenBucket["onDone"];
}

/**
 * A change that was run in a transaction, with what it wrote; one that was refused wrote nothing, and if it was not the first, what others
 * wrote may be the reason: entries, but also locks and properties.
 */
type ChangeRun = { readonly change: Change<EntryWriter> } & (
  | { readonly result: unknown; readonly written: WriteState }
  | { readonly error: unknown; readonly isFirst: boolean }
);

/** Ending is the outcome of a transaction: `unknown` if COMMIT was sent and no answer to it could be read. */
type Ending = "open" | "unknown" | "committed";

/**
 * Committer runs the changes of one bucket, several in a transaction that locks the head of the bucket, and settles them when it
 * has ended.
 */
export class Committer {
  readonly #options: CommitterOptions;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /** One change that throws is undone alone, and rejects with what it threw. Does not reject. */
  async commit(changes: ReadonlyArray<Change<EntryWriter>>): Promise<void> {
    const { database, sync } = this.#options;
    const ran: ChangeRun[] = [];
    let ending: Ending = "open";
    try {
      await database.transact(async (transaction) => {
        await this.#runAll(changes, ran, transaction);
        ending = "unknown";
      });
      ending = "committed";
      this.#announce(ran);
      if (sync && ran.some(isDone)) await database.flush();
      this.#notify(ran);
      for (const one of ran) {
        if (isDone(one)) one.change.resolve(one.result);
        else one.change.reject(one.error);
      }
    } catch (error) {
      await this.#settleFailed(changes, ran, { error, ending });
    }
  }

  async #runAll(
    changes: ReadonlyArray<Change<EntryWriter>>,
    ran: ChangeRun[],
    transaction: Transaction,
  ): Promise<void> {
    const { bucketPath, database, openWriter } = this.#options;
    const { head, nowMs } = await database.heads.lock(bucketPath, transaction);
    if (head === undefined) throw treeIsMissing();
    const writer = openWriter({ transaction, head, nowMs });
    for (const change of changes) {
      const { head: before } = writer.written;
      writer.begin({ head: before });
      const run = () => runOrUnname(change, writer);
      // The only change is undone with the transaction itself.
      const attempt = changes.length === 1 ? { result: await run() } : await inSavepoint(transaction, run);
      if ("error" in attempt) {
        writer.begin({ head: before });
        ran.push({ change, error: attempt.error, isFirst: !ran.some(isDone) });
      } else ran.push({ change, result: attempt.result, written: writer.written });
    }
    const after = writer.written.head;
    if (after !== head) await database.heads.write(bucketPath, after, transaction);
  }

  #announce(ran: readonly ChangeRun[]): void {
    const { heads, bucketPath, onChanged } = this.#options;
    const last = lastChange(ran);
    if (last === undefined) return;
    const { head, locked } = last;
    heads.known.changed(bucketPath, { before: locked, after: head, rows: rowsOf(ran) });
    heads.saw(bucketPath, head);
    onChanged();
  }

  /** Changes whose outcome is in doubt are not told: whoever follows the versions of the bucket finds that one is missing. */
  #notify(ran: readonly ChangeRun[]): void {
    const { onDone } = this.#options;
    if (onDone === undefined) return;
    let before: number | undefined;
    for (const { change, written } of ran.filter(isDone)) {
      if (!written.isChanged) continue;
      const { version: after, root } = written.head;
      before ??= written.locked.version;
      onDone(change.changes, { before, after, root });
      before = after;
    }
  }

  /** It is not known whether the changes were made. */
  #announceDoubt(ran: readonly ChangeRun[]): void {
    const { heads, bucketPath, onChanged } = this.#options;
    heads.known.mayBeChanged(bucketPath, rowsOf(ran));
    onChanged();
  }

  async #settleFailed(
    changes: ReadonlyArray<Change<EntryWriter>>,
    ran: readonly ChangeRun[],
    { error, ending }: { readonly error: unknown; readonly ending: Ending },
  ): Promise<void> {
    const done = ran.filter(isDone);
    // Whatever the failure was: an answer that cannot be read may have said that it is done.
    const isLost = ending === "unknown";
    const outcome = isLost
      ? await resolveUnknownCommit(
          this.#options,
          done.map(({ written }) => written),
        )
      : ending === "committed"
        ? "unknown"
        : "not done";
    if (outcome === "done") this.#announce(ran);
    else if (outcome === "unknown") this.#announceDoubt(ran);
    else for (const { written } of done) unname(written);
    const fault = isLost && outcome === "unknown" ? mayBeDone(error) : error;
    const byChange = new Map(ran.map((one) => [one.change, one]));
    for (const change of changes) {
      const one = byChange.get(change);
      if (one !== undefined && isDone(one) && outcome === "done") change.resolve(one.result);
      else if (one !== undefined && !isDone(one) && (outcome === "done" || one.isFirst))
        change.reject(one.error);
      else change.reject(fault);
    }
  }
}

async function runOrUnname(change: Change<EntryWriter>, writer: EntryWriter): Promise<unknown> {
  try {
    return await change.run(writer);
  } catch (error) {
    unname(writer.written);
    throw error;
  }
}

function isDone(one: ChangeRun): one is Extract<ChangeRun, { readonly written: WriteState }> {
  return "written" in one;
}

/** The last change that wrote an entry; undefined if none did. */
function lastChange(ran: readonly ChangeRun[]): WriteState | undefined {
  return ran.filter(isDone).findLast(({ written }) => written.isChanged)?.written;
}

/** rowsOf returns the rows that all changes wrote; undefined if the rows of one of them are unknown. */
function rowsOf(ran: readonly ChangeRun[]): readonly WrittenRow[] | undefined {
  const rows: WrittenRow[] = [];
  for (const { written } of ran.filter(isDone)) {
    if (written.rows === undefined) return undefined;
    rows.push(...written.rows);
  }
  return rows;
}

/** Lets the uploads of a change that was undone be deleted. */
function unname({ named }: WriteState): void {
  for (const { staged } of named) staged.isNamed = false;
}

function mayBeDone(cause: unknown): Fault {
  return new Fault(
    "DatabaseError",
    "the connection to the database was lost during the commit, so the change may have been made; check before you try again",
    { reason: "unavailable", outcome: "unknown" },
    { cause },
  );
}

/** The largest number of changes in one transaction. */
const maxChanges = 64;

/** Change is work that waits for its turn in a transaction. Its promise is settled once the transaction has ended. */
interface Change<W> {
  readonly run: (writer: W) => Promise<unknown>;
  /** What followers are told once it is durable. */
  readonly changes: readonly FileChange[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * ChangeQueue collects the changes of one bucket while a transaction runs, and gives them to the next one together: a commit
 * waits for the disk, and so one commit serves all who came meanwhile.
 */
export class ChangeQueue<W> {
  readonly #commit: (changes: ReadonlyArray<Change<W>>) => Promise<void>;
  readonly #waiting: Array<Change<W>> = [];
  #isRunning = false;

  /** `commit` runs changes in one transaction and settles each of them. It does not reject. */
  constructor(commit: (changes: ReadonlyArray<Change<W>>) => Promise<void>) {
    this.#commit = commit;
  }

  run<T>(work: (writer: W) => Promise<T>, changes: readonly FileChange[] = []): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // The transaction may be begun by another request: the log lines of this work are those of its own.
    const run = AsyncLocalStorage.bind(work);
    this.#waiting.push({ run, changes, resolve: (result) => resolve(result as T), reject });
    if (!this.#isRunning) {
      this.#isRunning = true;
      outsideSpans(() => void this.#drain());
    }
    return promise;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, maxChanges));
    this.#isRunning = false;
  }
}

/** Attempts to reach a database that was lost during COMMIT. The pause before each further attempt is twice as long. */
const maxAttempts = 6;
const firstPauseMs = 100;

/** Outcome of a transaction whose connection was lost during COMMIT. */
type Outcome = "done" | "not done" | "unknown";

/**
 * resolveUnknownCommit checks whether a transaction was committed after its connection was lost. It locks the head of the bucket
 * as the transaction did, and so waits until the transaction has ended. No two blobs have the same key, so an entry that names
 * the blob of an upload proves the commit. Without such an entry, an older version of the bucket proves that nothing was
 * committed; otherwise somebody may have replaced the entry since, and the outcome stays unknown.
 */
async function resolveUnknownCommit(
  { database, bucketPath }: { readonly database: Database; readonly bucketPath: string },
  changes: readonly WriteState[],
): Promise<Outcome> {
  const check = () =>
    database.transact(async (transaction): Promise<Outcome> => {
      const { head } = await database.heads.lock(bucketPath, transaction);
      const rows = database.entries.within(transaction);
      const isOlder = changes.some(
        ({ isChanged, head: { version } }) => isChanged && (head?.version ?? 0) < version,
      );
      return isOlder ? "not done" : (await namesAny(rows, bucketPath, changes)) ? "done" : "unknown";
    });
  try {
    return await retry(check, {
      pauseAfter: (error, failures) =>
        isUnavailable(error) && failures < maxAttempts ? firstPauseMs * 2 ** (failures - 1) : undefined,
    });
  } catch {
    return "unknown";
  }
}

async function namesAny(
  rows: EntryRows,
  bucketPath: string,
  changes: readonly WriteState[],
): Promise<boolean> {
  for (const { named } of changes)
    for (const { path, staged } of named) {
      if (staged.blob === undefined) continue;
      const value = entryOf(await locate(rows, bucketPath, path));
      if (value !== undefined && !isFolderValue(value) && value.blob === staged.blob.key) return true;
    }
  return false;
}
