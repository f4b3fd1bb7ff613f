import { z } from "zod";
import { Collection } from "../collection.ts";
import type { Dialect } from "../dialect.ts";
import { newestMigration } from "../migrations/migrations.ts";
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
  crashed: z.boolean().optional(),
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
  /** Whether the run before did not end by a stop. */
  readonly crashed?: boolean | undefined;
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
  /** By `keyOf`. */
  readonly #nodes: Collection<unknown>;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#nodes = new Collection(dialect, nodesNamespace);
  }

  /** False if only one server at a time can use the database, so that there is nobody to send heartbeats to. */
  get isShared(): boolean {
    return this.#dialect.file === undefined;
  }

  /**
   * Writes a row, with the newest migration that this version knows (`schema`): one that takes the database away from older nodes
   * looks for it.
   */
  write(uuid: string, value: NodeValue): Promise<void> {
    return this.#nodes.put(keyOf({ uuid, ...value }), { ...value, schema: newestMigration });
  }

  /** Returns every row that can be understood, and the time. */
  async list(): Promise<{ readonly nowMs: number; readonly rows: readonly NodeRow[] }> {
    const found = await this.#nodes.list({ order: "age", max: maxRows });
    const rows = [...found].flatMap(([key, value]): NodeRow[] => {
      const uuid = z.uuid().safeParse(key.split("/", 1)[0]);
      const parsed = nodeValue.safeParse(value);
      return uuid.success && parsed.success ? [{ ...parsed.data, uuid: uuid.data, key }] : [];
    });
    return { nowMs: await readClock(this.#dialect), rows };
  }

  async remove(keys: readonly string[]): Promise<void> {
    await this.#nodes.delete(...keys);
  }
}

export function keyOf({ uuid, boot, process }: NodeKey): string {
  return process === undefined ? `${uuid}/${boot}` : `${uuid}/${boot}/${process}`;
}
