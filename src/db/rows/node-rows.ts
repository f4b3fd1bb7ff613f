import { sql } from "kysely";
import { z } from "zod";
import type { Dialect } from "../dialect.ts";
import { newestMigration } from "../migrations/migrations.ts";
import { putRow } from "./kv-rows.ts";
import { readClock } from "./lock-rows.ts";

/** `nodesNamespace` is the namespace of a row for each process of each node. A backup does not bring them along. */
export const nodesNamespace = "nodes";
/** `aliveMs` is how long a node is alive after its last heartbeat. */
export const aliveMs = 60_000;

/** More rows than any cluster has: whoever can write the database must not be able to fill the memory of every node. */
const maxRows = 1000;

/**
 * Rows may have been written by hand, by another version, or by an attacker with the database's password: texts are short and
 * printable.
 */
const label = z.string().regex(/^[!-~]{1,128}$/);
const nodeValue = z.object({
  boot: z.uuid(),
  name: label,
  url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .nullable(),
  version: label,
  since: z.int(),
  at: z.int(),
  ready: z.boolean(),
  files: label,
  process: z.int().nonnegative().optional(),
  beat: label,
});

/** NodeValue is what a process says about itself. Times are Unix milliseconds of the database's clock. */
interface NodeValue {
  /** Made at the start: tells two nodes with the same UUID apart. Processes of one node have the same. */
  readonly boot: string;
  readonly name: string;
  /** How other nodes and operators reach the node itself; null if nobody has said. */
  readonly url: string | null;
  readonly version: string;
  /** When it started. */
  readonly since: number;
  /** Its last heartbeat. */
  readonly at: number;
  readonly ready: boolean;
  /** The id of the store of its files: the one in its mark, or `disk`. */
  readonly files: string;
  /** The number of the process, for a node that has several. */
  readonly process?: number | undefined;
  /** Names the writer and this heartbeat, so that each removes only what it wrote itself. */
  readonly beat: string;
}

export interface NodeRow extends NodeValue {
  readonly uuid: string;
  readonly key: string;
}

interface NodeKey {
  readonly uuid: string;
  readonly boot: string;
  readonly process?: number | undefined;
}

/** NodeRows is who uses the database. */
export class NodeRows {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** False if only one server at a time can use the database, so that there is nobody to send heartbeats to. */
  get isShared(): boolean {
    return this.#dialect.file === undefined;
  }

  /**
   * Writes a row, with the newest migration that this version knows (`schema`): one that takes the database away from older nodes
   * looks for it.
   */
  async write(uuid: string, value: NodeValue): Promise<void> {
    const name = { namespace: nodesNamespace, key: keyOf({ uuid, ...value }) };
    await putRow(this.#dialect.query, name, this.#dialect.json({ ...value, schema: newestMigration }));
  }

  /** Returns every row that can be understood, and the time. */
  async list(): Promise<{ readonly nowMs: number; readonly rows: readonly NodeRow[] }> {
    const found = await this.#dialect.query
      .selectFrom("kv")
      .select(["key", "value", sql<number | bigint>`${this.#dialect.nowMs}`.as("now")])
      .where("namespace", "=", nodesNamespace)
      .orderBy("id")
      .limit(maxRows)
      .execute();
    const rows = found.flatMap(({ key, value }): NodeRow[] => {
      const uuid = z.uuid().safeParse(key.split("/", 1)[0]);
      const parsed = nodeValue.safeParse(this.#dialect.fromJson(value));
      return uuid.success && parsed.success ? [{ ...parsed.data, uuid: uuid.data, key }] : [];
    });
    return { nowMs: found[0] === undefined ? await readClock(this.#dialect) : Number(found[0].now), rows };
  }

  async remove(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#dialect.query
      .deleteFrom("kv")
      .where("namespace", "=", nodesNamespace)
      .where("key", "in", keys)
      .execute();
  }
}

export function keyOf({ uuid, boot, process }: NodeKey): string {
  return process === undefined ? `${uuid}/${boot}` : `${uuid}/${boot}/${process}`;
}
