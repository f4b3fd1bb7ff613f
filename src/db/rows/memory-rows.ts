import { type SqlBool, sql } from "kysely";
import { z } from "zod";
import { Collection, Collections, type Condition, type KeyedValue } from "../collection.ts";
import type { DatabaseTransaction, Dialect } from "../dialect.ts";
import { nodesNamespace } from "./node-rows.ts";

const auditNamespace = "audit";
/** Each is followed by the id of a node. */
const warningsPrefix = "node-warnings/";
const metricsPrefix = "node-metrics/";
const verdictsNamespace = "verdicts";

/** `isOfNode` returns whether a namespace of `kv` is about the nodes of a database, so that a restore does not bring it back. */
export function isOfNode(namespace: string): boolean {
  return (
    [warningsPrefix, metricsPrefix].some((prefix) => namespace.startsWith(prefix)) ||
    namespace === verdictsNamespace ||
    namespace === nodesNamespace
  );
}

/** The number of rows that one statement writes or reads. */
const batchSize = 200;

/** JournalBounds are what a journal may hold. */
interface JournalBounds {
  readonly before: string;
  readonly maxRows: number;
  readonly maxBytes: number;
}

/** JournalRows are values under keys that sort by time, such as those of `timedKey`. */
export class JournalRows<T> {
  readonly #rows: Collection<T>;

  constructor(rows: Collection<T>) {
    this.#rows = rows;
  }

  /** Writes values, each in the place of one with the same key. */
  async write(values: ReadonlyMap<string, T>): Promise<void> {
    const all = [...values];
    for (let at = 0; at < all.length; at += batchSize)
      await this.#rows.putMany(new Map(all.slice(at, at + batchSize)));
  }

  /** Returns the newest values that match, at most `max`, the newest first; only those before the key `before`. */
  async newest({
    before,
    max,
    matches = () => true,
  }: {
    readonly before?: string | undefined;
    readonly max: number;
    readonly matches?: (row: KeyedValue<T>) => boolean;
  }): Promise<Array<KeyedValue<T>>> {
    const found: Array<KeyedValue<T>> = [];
    // In batches, because SQLite stops everybody else while it reads one.
    for (let last = before; ; ) {
      const rows = await this.#rows.list({
        where: last === undefined ? undefined : below(last),
        order: "last",
        max: batchSize,
      });
      for (const [key, value] of rows) {
        last = key;
        if (matches({ key, value }) && found.push({ key, value }) === max) return found;
      }
      if (rows.size < batchSize) return found;
    }
  }

  /** Deletes the values before the key `before`, and the oldest of those that are more than `maxRows` or `maxBytes`. */
  async trim({ before, maxRows, maxBytes }: JournalBounds): Promise<void> {
    await this.#rows.deleteWhere(below(before));
    const size = sql`octet_length(cast(value as text))`;
    let { rows, bytes } = await this.#rows.sums({ rows: sql`count(*)`, bytes: sql`sum(${size})` });
    while (rows > maxRows || bytes > maxBytes) {
      const oldest = await this.#rows.list({
        max: bytes > maxBytes ? batchSize : Math.min(rows - maxRows, batchSize),
      });
      if (oldest.size === 0) return;
      await this.#rows.delete(...oldest.keys());
      rows -= oldest.size;
      for (const value of oldest.values()) bytes -= Buffer.byteLength(JSON.stringify(value));
    }
  }
}

function below(key: string): Condition {
  return sql<SqlBool>`key < ${key}`;
}

const lastVerdict = z.object({ verdict: z.string(), codes: z.array(z.string()).readonly() });
/** LastVerdict is what was told last about the health of a node. */
export type LastVerdict = z.infer<typeof lastVerdict>;

/** MemoryRows are what nodes remember over a restart. Values were written by a server, or by whoever can write the database. */
export class MemoryRows {
  readonly #warnings: Collections<unknown>;
  readonly #metrics: Collections<unknown>;
  /** By the UUID of a node, or by `sharedVerdict`. */
  readonly #verdicts: Collection<unknown>;
  /** The changes that callers of all nodes made. */
  readonly audit: JournalRows<unknown>;

  constructor(dialect: Dialect) {
    this.#warnings = new Collections(dialect, warningsPrefix);
    this.#metrics = new Collections(dialect, metricsPrefix);
    this.#verdicts = new Collection(dialect, verdictsNamespace);
    this.audit = new JournalRows(new Collection<unknown>(dialect, auditNamespace));
  }

  /** The last warnings and errors in the log of a node. */
  warnings(node: string): JournalRows<unknown> {
    return new JournalRows(this.#warnings.of(node));
  }

  /** The history of the metrics of one process. */
  metrics(process: string): JournalRows<unknown> {
    return new JournalRows(this.#metrics.of(process));
  }

  /** Stores a verdict. If it is another one, `notify` gets the one before, in the transaction: of several nodes that store the same, one notifies. */
  async turn(
    key: string,
    next: LastVerdict,
    notify: (before: LastVerdict, transaction: DatabaseTransaction) => Promise<void>,
  ): Promise<void> {
    await this.#verdicts.exclusively(async (verdicts, transaction) => {
      const stored = lastVerdict.safeParse(await verdicts.get(key));
      const before: LastVerdict = stored.success ? stored.data : { verdict: "well", codes: [] };
      if (before.verdict === next.verdict && before.codes.join() === next.codes.join()) return;
      await verdicts.put(key, next);
      await notify(before, transaction);
    });
  }

  /** Deletes what nodes wrote before a key and did not trim themselves, because they are gone. */
  async forgetNodes(before: { readonly warnings: string; readonly metrics: string }): Promise<void> {
    await this.#warnings.deleteAll(below(before.warnings));
    await this.#metrics.deleteAll(below(before.metrics));
  }

  /** Deletes the history in steps of a length, before a key, of all processes. */
  async forgetSteps(suffix: string, before: string): Promise<void> {
    const ends = sql<SqlBool>`substr(key, ${before.length + 1}) = ${suffix}`;
    await this.#metrics.deleteAll(sql<SqlBool>`(${below(before)} and ${ends})`);
  }
}

/** `timedKey` returns a key that sorts by `stamp`, in microseconds since 1970, whatever the collation of the database. */
export function timedKey(stamp: number, suffix: string): string {
  return String(stamp).padStart(16, "0") + suffix;
}
